"""Single-step migration without layers: a price per interval instead of a count, with a certificate.

With a price p for every interval the count no longer matters and one sweep of O(m) gives
``dual(p) = max over plans of gain - p * intervals``. For every p, ``dual(p) + p * slots`` is an upper bound on the gain
of any plan with at most ``slots`` intervals. So a priced plan that uses exactly ``slots`` intervals is optimal, and so
is one that uses fewer at price zero: that is the certificate ("dual").

The right price lies where the count passes ``slots``; the two lines through the bracketing plans cross at the next
price to try, and every few tries the bracket is halved instead. Whole gains that are concave in the count meet at a
whole price; then plans with fewer and with more intervals are worth the same there, and one with exactly ``slots`` is
sought among all plans of that worth, guided by the fewest and the most intervals of every prefix ("flat"). To have
both, gains are multiplied by more than any count, and the price moved by one either way.

Where that fails, every cut that no better plan can use is dropped: forward plus backward bound at most the best gain in
hand. Bins between the cuts that are left merge, and the layered program decides ("pruned"). Always exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from whimbrel.planning.ssm_layered import fresh_scratch, sweep
from whimbrel.planning.ssm_terrain import NEVER, Integers, Terrain, terrain_of
from whimbrel.planning.ssm_trace import last_interval, old_intervals_of, plan_layers, stride_of

TRIES_MAX = 90
CELLS_MAX = 1 << 23


class Priced(NamedTuple):
    """A plan that is best at its price: cuts and keepers from right to left, keepers as positions."""

    price: int
    gain: int
    cuts: Integers
    keepers: Integers

    @property
    def intervals(self) -> int:
        """How many intervals it has."""
        return len(self.keepers)


@njit(cache=True)
def priced_tables(reach: Integers, terrain: Terrain, price: int) -> tuple[Integers, Integers]:
    """(unused, any): the best prefixes, as in the layered program, when every interval costs ``price``."""
    m = len(reach) - 1
    unused, any_ = np.full(m + 1, NEVER, np.int64), np.full(m + 1, NEVER, np.int64)
    unused[0] = any_[0] = 0
    sweep(reach, terrain, 1, m, unused, any_, unused, any_, price, fresh_scratch(m))
    return unused, any_


@njit(cache=True)
def priced_plan(
    reach: Integers, terrain: Terrain, price: int, unused: Integers, any_: Integers
) -> tuple[Integers, Integers]:
    """(cuts, keepers) from right to left of one plan of the best worth at this price."""
    m = len(reach) - 1
    cuts, keepers = np.empty(m + 1, np.int64), np.empty(m, np.int64)
    x, used, count = m, True, 0
    cuts[0] = m
    while x > 0:
        value = any_[x] if used else unused[x]
        settled = used or terrain[2][x - 1] == x
        x, keeper, used = last_interval(reach, terrain, x, settled, value + price, unused, any_)
        keepers[count] = keeper
        count += 1
        cuts[count] = x
    return cuts[: count + 1], keepers[:count]


def plan_lagrangian(
    reach: Integers, state: Integers, boundaries: Integers, slots: int
) -> tuple[int, Integers, Integers, str]:
    """(gain, cuts, keepers, certificate): as ``plan_layers``, with how it is known to be optimal.

    The certificate is ``dual``, ``flat`` or ``pruned`` (see the header), or ``layered`` for numbers too large to price;
    gain -1 and ``infeasible`` where no plan keeps the limit.
    """
    if not _fits(reach, slots):
        return -1, np.empty(0, np.int64), np.empty(0, np.int64), "infeasible"
    room, total = len(state) + 1, int(state.sum())
    scale = room if total * room < 1 << 56 else 1
    terrain = terrain_of(state * scale, boundaries)
    found, low, high = _search(reach, terrain, slots, total * scale)
    if found is not None:
        return _answer(found, scale, boundaries, "dual")
    if low is None or high is None:
        stride = stride_of(len(state), slots, CELLS_MAX)
        return (*plan_layers(reach, state, boundaries, slots, stride), "layered")
    crossing, rest = divmod(low.gain - high.gain, low.intervals - high.intervals)
    if scale > 1 and rest == 0 and crossing % scale == 0:
        flat = _flat_plan(reach, terrain, crossing, scale, slots)
        if flat is not None:
            return _answer(flat, scale, boundaries, "flat")
    return _pruned(reach, state, boundaries, slots, crossing // scale, high, scale)


def _search(
    reach: Integers, terrain: Terrain, slots: int, total: int
) -> tuple[Priced | None, Priced | None, Priced | None]:
    """(certified plan, None, None), or (None, low, high): the bracket with too many and with too few intervals."""
    low = _at_price(reach, terrain, 0)
    if low.intervals <= slots:
        return low, None, None
    high, price = None, max(total // slots, 1)
    for tries in range(TRIES_MAX):
        if price * slots >= 1 << 58:
            return None, None, None
        plan = _at_price(reach, terrain, price)
        if plan.intervals == slots:
            return plan, None, None
        if plan.intervals > slots:
            low = plan
        else:
            high = plan
        if high is None:
            price *= 4
            continue
        crossing = (low.gain - high.gain) // (low.intervals - high.intervals)
        price = crossing if tries % 4 != 3 else (low.price + high.price) // 2
        if not low.price < price < high.price:
            break
    return None, low, high


def _at_price(reach: Integers, terrain: Terrain, price: int) -> Priced:
    unused, any_ = priced_tables(reach, terrain, price)
    cuts, keepers = priced_plan(reach, terrain, price, unused, any_)
    return Priced(price, int(any_[-1]) + price * len(keepers), cuts, keepers)


def _answer(plan: Priced, scale: int, boundaries: Integers, how: str) -> tuple[int, Integers, Integers, str]:
    return plan.gain // scale, plan.cuts[::-1], old_intervals_of(plan.keepers[::-1], boundaries), how


def _flat_plan(reach: Integers, terrain: Terrain, price: int, scale: int, slots: int) -> Priced | None:
    """A plan with exactly ``slots`` intervals among those that are best at ``price``, if the guide finds one."""
    fewest_unused, fewest_any = priced_tables(reach, terrain, price + 1)
    most_unused, most_any = priced_tables(reach, terrain, price - 1)
    worth_unused, worth_any = -(-fewest_unused // scale) * scale, -(-fewest_any // scale) * scale
    cuts, keepers, count = _follow(
        reach,
        terrain,
        price,
        slots,
        (worth_unused, worth_any),
        (worth_unused - fewest_unused, worth_any - fewest_any),
        (most_unused - worth_unused, most_any - worth_any),
    )
    if count != slots:
        return None
    return Priced(price, int(worth_any[-1]) + price * slots, cuts[: count + 1], keepers[:count])


@njit(cache=True)
def _follow(reach: Integers, terrain: Terrain, price: int, slots: int, worth: Any, fewest: Any, most: Any) -> Any:
    """(cuts, keepers, count) from right to left; count is not ``slots`` where the guide lost its way."""
    m = len(reach) - 1
    cuts, keepers = np.empty(slots + 1, np.int64), np.empty(slots, np.int64)
    x, used, count = m, 1, 0
    cuts[0] = m
    while x > 0 and count < slots:
        left, keeper, used = _guided_interval(reach, terrain, price, x, used, slots - count - 1, worth, fewest, most)
        if left < 0:
            return cuts, keepers, -1
        keepers[count] = keeper
        count += 1
        x = left
        cuts[count] = x
    return cuts, keepers, count if x == 0 else -1


@njit(cache=True)
def _guided_interval(
    reach: Integers, terrain: Terrain, price: int, x: int, used: int, rest: int, worth: Any, fewest: Any, most: Any
) -> tuple[int, int, int]:
    """(left, keeper, used before) of a last interval after which exactly ``rest`` intervals can still be the best."""
    prefix, start, end, size = terrain
    value, b = worth[used][x] + price, start[x]
    settled = used == 1 or end[x - 1] == x
    complete, keeper = NEVER, -1
    for left in range(x - 1, reach[x] - 1, -1):
        if left < b and size[left] > complete:
            complete, keeper = size[left], left
        for before in range(2):
            if not fewest[before][left] <= rest <= most[before][left]:
                continue
            lacking = value - worth[before][left]
            if lacking == 0 and (settled or before == 0 or left <= b):
                return left, -1, before
            if settled and (before == 0 or left <= b) and lacking == prefix[x] - prefix[max(left, b)]:
                return left, b, before
            if left < b and lacking == complete:
                return left, keeper, before
            if left < b and before == 0 and lacking == prefix[end[left]] - prefix[left]:
                return left, left, before
    return -1, -1, 0


def _fits(reach: Integers, slots: int) -> bool:
    """Whether any plan keeps the limit with at most ``slots`` intervals."""
    x = len(reach) - 1
    for _ in range(slots):
        x = int(reach[x])
    return x == 0


def _pruned(
    reach: Integers, state: Integers, boundaries: Integers, slots: int, price: int, high: Priced, scale: int
) -> tuple[int, Integers, Integers, str]:
    gain, cuts, keepers, how = _answer(high, scale, boundaries, "pruned")
    kept = _useful_cuts(reach, state, boundaries, slots, price, gain)
    prefix = np.concatenate([np.zeros(1, np.int64), np.cumsum(state)])
    merged_reach = np.searchsorted(kept, reach[kept])
    merged_boundaries = np.searchsorted(kept, boundaries)
    stride = stride_of(len(kept) - 1, slots, CELLS_MAX)
    better, merged_cuts, merged_keepers = plan_layers(
        merged_reach, np.diff(prefix[kept]), merged_boundaries, slots, stride
    )
    if better > gain:
        return better, kept[merged_cuts], merged_keepers, how
    return gain, cuts, keepers, how


def _useful_cuts(reach: Integers, state: Integers, boundaries: Integers, slots: int, price: int, gain: int) -> Integers:
    """The cuts that a plan worth more than ``gain`` could use, and the old boundaries."""
    m = len(state)
    forward_unused, forward_any = priced_tables(reach, terrain_of(state, boundaries), price)
    backward_terrain = terrain_of(state[::-1].copy(), (m - boundaries)[::-1].copy())
    backward_unused, backward_any = priced_tables(_reversed_reach(reach), backward_terrain, price)
    through = np.maximum(forward_unused + backward_any[::-1], forward_any + backward_unused[::-1])
    useful = through + price * slots > gain
    useful[boundaries] = True
    return np.flatnonzero(useful)


@njit(cache=True)
def _reversed_reach(reach: Integers) -> Integers:
    """``reach`` of the same bins in the opposite order."""
    m = len(reach) - 1
    answer = np.zeros(m + 1, np.int64)
    right = m
    for x in range(m - 1, -1, -1):
        while reach[right] > x:
            right -= 1
        answer[m - x] = m - right
    return answer
