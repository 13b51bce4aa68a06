"""Cost against balance, exactly: every plan that moves less than all better balanced ones.

The cost of the best plan is a falling staircase of the limit. From the loosest limit down: solve; halve to the
smallest limit that costs the same; take one unit off and go on, until nothing fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from whimbrel.model import Assignment, BadInput, Load
from whimbrel.model.limit import exact
from whimbrel.model.load import Number
from whimbrel.planning import ssm
from whimbrel.planning.feasibility import smallest_limit, tau_for
from whimbrel.planning.instance import Instance, plain


@dataclass(frozen=True)
class Balance:
    """One step of the staircase: no plan with a lower busiest slot costs as little, and none costs less at this tau."""

    tau: float
    max_load: Number
    cost: Number
    target: Assignment


def pareto(load: Load, current: Assignment, slots: int, give_up: Iterable[int] = ()) -> tuple[Balance, ...]:
    """The whole staircase, the best balanced plan first and the cheapest last; ``give_up`` names slots to empty.

    >>> load = Load(work=(4, 2, 2, 4), state=(4, 2, 2, 4))
    >>> [(point.max_load, point.cost) for point in pareto(load, Assignment((0, 0, 0, 1)), slots=2)]
    [(6, 2), (8, 0)]
    """
    stairs = _Stairs(load, current, slots, give_up)
    points = []
    limit = stairs.loosest
    while limit >= stairs.tightest:
        limit = stairs.tightest_as_cheap_as(limit)
        points.append(stairs.at(limit))
        limit -= 1
    return tuple(points[::-1])


def cheapest_balance_within(
    load: Load, current: Assignment, slots: int, budget: Number, give_up: Iterable[int] = ()
) -> Balance | None:
    """The best balance that moves at most ``budget`` of state, or None where every plan moves more."""
    stairs = _Stairs(load, current, slots, give_up)
    if exact(stairs.at(stairs.loosest).cost) > exact(budget):
        return None
    low, high = stairs.tightest, stairs.loosest
    while low < high:
        middle = (low + high) // 2
        if exact(stairs.cost(middle)) <= exact(budget):
            high = middle
        else:
            low = middle + 1
    return stairs.at(stairs.tightest_as_cheap_as(low))


class _Stairs:
    """The best gain at each limit, limits being whole numbers in the unit of the scaled work."""

    def __init__(self, load: Load, current: Assignment, slots: int, give_up: Iterable[int]) -> None:
        self.asked = Instance(load, current, slots, tau=0.0, given_up=frozenset(give_up))
        self.work, self.scale = self.asked.scaled_work
        self.tightest = smallest_limit(self.work, slots)
        self.loosest = max(sum(self.work), self.tightest)
        self._known: dict[int, tuple[int, Assignment]] = {}

    def _solved(self, limit: int) -> tuple[int, Assignment]:
        if limit not in self._known:
            instance = replace(self.asked, fixed_limit=Fraction(limit, self.scale))
            intervals = ssm.solve(instance)
            if intervals is None:
                raise BadInput(f"no plan keeps the limit {limit}")
            self._known[limit] = intervals.gain, ssm.target_of(instance, intervals)
        return self._known[limit]

    def cost(self, limit: int) -> Number:
        return self.asked.cost_of(self._solved(limit)[1])

    def tightest_as_cheap_as(self, limit: int) -> int:
        gain = self._solved(limit)[0]
        low, high = self.tightest, limit
        while low < high:
            middle = (low + high) // 2
            if self._solved(middle)[0] == gain:
                high = middle
            else:
                low = middle + 1
        return low

    def at(self, limit: int) -> Balance:
        target = self._solved(limit)[1]
        most = max(self.asked.work_by_slot(target).values())
        tau = tau_for(most, self.asked.total_work, self.asked.slots)
        return Balance(tau, plain(most), self.asked.cost_of(target), target)
