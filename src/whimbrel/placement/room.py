"""How much more a server may take right now, for compiled kernels: the limits of ``capacity`` in whole numbers.

Work x fits on a server of capacity c beside its load L where L + x <= (1 + nu) * W * c / C or L + x <= W * c / C +
alpha, with W the work of the live queries, the arriving one included, and C the capacity that is up. Both are compared
by cross-multiplying, so nothing is rounded and nothing divided.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from numba import njit

from whimbrel.model.errors import BadInput
from whimbrel.placement.hosting import CAPACITY, WORK, Hosts

_EXACT_IN_64_BITS = 2**62


class Slack(NamedTuple):
    """nu = ``nu_top`` / ``nu_bottom`` and alpha = ``alpha_top`` / ``alpha_bottom``, in whole numbers."""

    nu_top: int
    nu_bottom: int
    alpha_top: int
    alpha_bottom: int


class Room(NamedTuple):
    """The limits at one moment: load * ``divisor`` <= capacity * ``share`` + ``slack``, relative or absolute."""

    relative_divisor: int
    relative_share: int
    absolute_divisor: int
    absolute_share: int
    absolute_slack: int


def slack_of(nu: Fraction, alpha: Fraction, work: int, capacity: int, largest: int) -> Slack:
    """Both slacks in whole numbers.

    ``work`` is the most that is ever live, ``capacity`` the most that is ever up, ``largest`` the largest capacity of a
    server. Raises BadInput where a product would leave the 64 bits that kernels count in.
    """
    most = max(
        work * largest * (nu.numerator + nu.denominator),
        work * largest * alpha.denominator + alpha.numerator * capacity,
        work * capacity * max(nu.denominator, alpha.denominator),
    )
    if most >= _EXACT_IN_64_BITS:
        raise BadInput(f"nu = {float(nu)} and alpha = {float(alpha)} are too large or too fine for the simulator")
    return Slack(nu.numerator, nu.denominator, alpha.numerator, alpha.denominator)


@njit(cache=True)
def room_now(arriving: int, slack: Slack, hosts: Hosts) -> Room:
    """The limits once work ``arriving`` is live too."""
    work, capacity = hosts.totals[WORK] + arriving, hosts.totals[CAPACITY]
    return Room(
        capacity * slack.nu_bottom,
        work * (slack.nu_top + slack.nu_bottom),
        capacity * slack.alpha_bottom,
        work * slack.alpha_bottom,
        slack.alpha_top * capacity,
    )


@njit(cache=True)
def fits(j: int, work: int, room: Room, hosts: Hosts) -> bool:
    """Whether server ``j`` may carry ``work`` more."""
    load, capacity = hosts.loads[j] + work, hosts.capacity[j]
    return (
        load * room.relative_divisor <= capacity * room.relative_share
        or load * room.absolute_divisor <= capacity * room.absolute_share + room.absolute_slack
    )
