"""How much work a server may carry: exactly, because a limit that is off by one loses queries.

Offline, server j may carry floor((1 + nu) * W * c_j / C), with W the work of all queries, c_j the server's capacity
and C the sum of the capacities. Online, W is the work that has arrived so far, the arriving query included, and the
limit is floor(max((1 + nu) * W * c_j / C, W * c_j / C + alpha)): the absolute slack rules until the relative one is
the larger, which is from W = alpha * C / (nu * c_j) on.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from whimbrel.placement.errors import CannotPlace
from whimbrel.placement.instance import FINEST_RATIO, Integers, PlacementInstance


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
    """The smallest alpha for which random placement is known to keep both limits with probability 1 - epsilon.

    The chance is least where the relative slack takes over, at alpha * k / nu arrivals. By Hoeffding's inequality and a
    union bound over the servers, alpha >= k / (2 nu) * log(k / epsilon) is enough; the union bound is where the factor
    k inside the logarithm comes from.
    """
    return servers / (2 * nu) * math.log(servers / epsilon)


def require_room(instance: PlacementInstance, limits: Integers, alpha: Fraction = Fraction(0)) -> None:
    """Raises CannotPlace where the limits together, or the largest of them, cannot hold the work.

    ``alpha`` is the absolute slack that is in the limits: it tells from which nu on there is room.
    """
    heaviest, room = int(instance.work.max(initial=0)), sum(limits.tolist())
    if heaviest > int(limits.max()):
        shortage = (
            f"query {int(instance.work.argmax())} brings {heaviest} units of work and the roomiest server may carry "
            f"{int(limits.max())}"
        )
    elif room < instance.total_work:
        shortage = (
            f"{instance.servers} servers may carry {room} units of work in all and the queries bring "
            f"{instance.total_work}"
        )
    else:
        return
    enough = _not_below(_smallest_nu(instance, alpha))
    raise CannotPlace(f"{shortage}: raise nu to {enough!r} or more", smallest_nu=enough)


def _limits(instance: PlacementInstance, limit_of_share: Callable[[Fraction], Fraction]) -> Integers:
    total, capacity = instance.total_work, int(instance.capacities.sum())
    found: dict[int, int] = {}
    for c in instance.capacities.tolist():
        if c not in found:
            found[c] = math.floor(limit_of_share(Fraction(total * c, capacity)))
    return np.asarray([found[c] for c in instance.capacities.tolist()], dtype=np.int64)


def _smallest_nu(instance: PlacementInstance, alpha: Fraction) -> Fraction:
    """The least nu under which the servers together hold the work and one of them the heaviest query.

    Servers gain room one unit at a time, each at a nu of its own: (limit + 1) / share - 1. They are taken in that
    order, servers of equal capacity at once, until nothing is missing.
    """
    total, capacity = instance.total_work, int(instance.capacities.sum())
    classes, counts = np.unique(instance.capacities, return_counts=True)
    shares = [Fraction(total * c, capacity) for c in classes.tolist()]
    limits = [math.floor(share + alpha) for share in shares]
    missing = total - sum(limit * count for limit, count in zip(limits, counts.tolist(), strict=True))
    gains = [((limits[c] + 1) / shares[c] - 1, c) for c in range(len(shares))]
    heapq.heapify(gains)
    nu = Fraction(0)
    while missing > 0:
        nu, c = gains[0]
        missing -= int(counts[c])
        limits[c] += 1
        heapq.heapreplace(gains, ((limits[c] + 1) / shares[c] - 1, c))
    heaviest = int(instance.work.max())
    return nu if heaviest <= max(limits) else max(nu, heaviest / max(shares) - 1)


def _not_below(nu: Fraction) -> float:
    """The slack as a float that an instance reads as this ratio, or as the next one of nine digits over it."""
    value = float(nu)
    read = Fraction(repr(value)).limit_denominator(FINEST_RATIO)
    return value if read >= nu else math.ceil(nu * FINEST_RATIO) / FINEST_RATIO
