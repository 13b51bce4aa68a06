"""How much work a server may carry: exactly, because a limit that is off by one loses queries.

Offline, server j may carry floor((1 + nu) * W * c_j / C), with W the work of all queries, c_j the server's capacity
and C the sum of the capacities. Online, W is the work that has arrived so far, the arriving query included, and the
limit is floor(max((1 + nu) * W * c_j / C, W * c_j / C + alpha)): the absolute slack rules until the relative one is
the larger, which is from W = alpha * C / (nu * c_j) on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from whimbrel.placement.errors import CannotPlace
from whimbrel.placement.instance import Integers, PlacementInstance


def offline_limits(instance: PlacementInstance) -> Integers:
    """The most work of each server when all queries are known."""
    return _limits(instance, lambda share: (1 + instance.nu) * share)


def online_limits(instance: PlacementInstance) -> Integers:
    """The most work of each server after the last arrival."""
    return _limits(instance, lambda share: max((1 + instance.nu) * share, share + instance.alpha))


def switch_over_work(instance: PlacementInstance, server: int = 0) -> Fraction | None:
    """The arrived work from which the relative slack rules on this server; None where it never does."""
    if instance.nu == 0:
        return None if instance.alpha else Fraction(0)
    share = Fraction(int(instance.capacities[server]), int(instance.capacities.sum()))
    return instance.alpha / (instance.nu * share)


def absolute_slack(servers: int, nu: float, epsilon: float) -> float:
    """The largest alpha for which random placement keeps both limits with probability 1 - epsilon.

    By Hoeffding's inequality and a union bound over the servers: alpha <= k / (2 nu) * log(k / epsilon). The union
    bound is where the factor k inside the logarithm comes from.
    """
    return servers / (2 * nu) * math.log(servers / epsilon)


def require_room(instance: PlacementInstance, limits: Integers) -> None:
    """Raises CannotPlace where the limits together, or the largest of them, cannot hold the work."""
    heaviest = int(instance.work.max(initial=0))
    if heaviest > int(limits.max()):
        raise CannotPlace(
            f"query {int(instance.work.argmax())} brings {heaviest} units of work and the roomiest server may carry "
            f"{int(limits.max())}: raise nu or the capacities"
        )
    room = sum(limits.tolist())
    if room < instance.total_work:
        raise CannotPlace(
            f"{instance.servers} servers may carry {room} units of work in all and the queries bring "
            f"{instance.total_work}: raise nu to {float(_smallest_nu(instance))!r} or more",
            smallest_nu=float(_smallest_nu(instance)),
        )


def _limits(instance: PlacementInstance, limit_of_share: Callable[[Fraction], Fraction]) -> Integers:
    total, capacity = instance.total_work, int(instance.capacities.sum())
    found: dict[int, int] = {}
    for c in instance.capacities.tolist():
        if c not in found:
            found[c] = math.floor(limit_of_share(Fraction(total * c, capacity)))
    return np.asarray([found[c] for c in instance.capacities.tolist()], dtype=np.int64)


def _smallest_nu(instance: PlacementInstance) -> Fraction:
    """Bisection over the steps at which some server gains a unit: the room grows only there."""
    total, capacity = instance.total_work, int(instance.capacities.sum())
    shares = sorted({Fraction(total * c, capacity) for c in instance.capacities.tolist()})
    steps = sorted({Fraction(math.floor(share) + extra) / share - 1 for share in shares for extra in (0, 1)})
    sizes = [Fraction(total * c, capacity) for c in instance.capacities.tolist()]
    for nu in steps:
        if nu >= 0 and sum(math.floor((1 + nu) * size) for size in sizes) >= total:
            return nu
    return steps[-1]
