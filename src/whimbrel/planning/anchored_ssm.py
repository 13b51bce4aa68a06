"""One step of a sequence between its neighbours: the partition that shares the most with two others together.

The single-step program with two anchors instead of one: for each anchor a bit says whether the slot of the anchor
interval around the current cut may have been used. Given the bits before and after, what an interval can keep of one
anchor follows from that anchor alone, so the gains add up. Either by layers (exact count of intervals) or, where that
is too much, with a price per interval as in the Lagrangian program (exact for the count that comes out).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.planning.ssm_terrain import NEVER, Integers, Terrain, band_of

LAYERED_STEPS_MAX = 20_000_000
PRICES_MAX = 16

Gains = tuple[int, int, int, int]


@njit(cache=True)
def anchor_gains(terrain: Terrain, left: int, x: int, complete: int) -> Gains:
    """What [left, x) keeps of one anchor, by (bit before, bit after): 00, 01, 10, 11.

    Bit 0 says that the slot of the anchor interval around the cut is unused; ``complete`` is the largest whole anchor
    interval inside, or 0.
    """
    prefix, start, end, _ = terrain
    b, open_right, open_left = start[x], end[x - 1] > x, start[left + 1] < left
    if left >= b:
        own = prefix[x] - prefix[left]
        if open_left:
            return (0, own, NEVER, 0) if open_right else (own, own, 0, 0)
        return (0, own, 0, own) if open_right else (own, own, own, own)
    tail = max(complete, prefix[x] - prefix[b])
    closed = complete if open_right else tail
    rest = prefix[end[left]] - prefix[left] if open_left else 0
    return max(closed, rest), max(tail, rest), closed, tail


@njit(cache=True)
def _paired(one: Gains, two: Gains, before: int, after: int) -> int:
    first = one[2 * (before & 1) + (after & 1)]
    second = two[(before & 2) + (after >> 1)]
    return NEVER if min(first, second) == NEVER else first + second


@njit(cache=True)
def _sweep(
    reach: Integers, one: Terrain, two: Terrain, low: int, high: int, before: Integers, after: Integers, price: int
) -> None:
    for x in range(low, high + 1):
        complete_one, complete_two = 0, 0
        for left in range(x - 1, reach[x] - 1, -1):
            if left < one[1][x]:
                complete_one = max(complete_one, one[3][left])
            if left < two[1][x]:
                complete_two = max(complete_two, two[3][left])
            gains_one = anchor_gains(one, left, x, complete_one)
            gains_two = anchor_gains(two, left, x, complete_two)
            for bits_before in range(4):
                known = before[bits_before, left]
                if known > NEVER // 2:
                    for bits in range(4):
                        offer = known + _paired(gains_one, gains_two, bits_before, bits) - price
                        after[bits, x] = max(after[bits, x], offer)
        if price == 0:
            for bits in range(4):
                after[bits, x] = max(after[bits, x], before[bits, x])


@njit(cache=True)
def _last_cut(
    reach: Integers, one: Terrain, two: Terrain, x: int, bits: int, value: int, before: Integers
) -> tuple[int, int]:
    """(left, bits before) of a last interval that reaches ``value``."""
    complete_one, complete_two = 0, 0
    for left in range(x - 1, reach[x] - 1, -1):
        if left < one[1][x]:
            complete_one = max(complete_one, one[3][left])
        if left < two[1][x]:
            complete_two = max(complete_two, two[3][left])
        gains_one = anchor_gains(one, left, x, complete_one)
        gains_two = anchor_gains(two, left, x, complete_two)
        for bits_before in range(3, -1, -1):
            if before[bits_before, left] + _paired(gains_one, gains_two, bits_before, bits) == value:
                return left, bits_before
    return -1, 0


@njit(cache=True)
def anchored_layers(reach: Integers, one: Terrain, two: Terrain, slots: int) -> Integers:
    """The cuts of the best partition into at most ``slots`` intervals; empty where none keeps the limit."""
    m = len(reach) - 1
    lowest, highest = band_of(reach, slots)
    if highest[slots] < m:
        return np.empty(0, np.int64)
    tables = np.full((slots + 1, 4, m + 1), NEVER, np.int64)
    tables[:, :, 0] = 0
    for k in range(1, slots + 1):
        _sweep(reach, one, two, max(lowest[k], 1), highest[k], tables[k - 1], tables[k], 0)
    cuts, k, x, bits = [m], slots, m, 3
    while x > 0:
        value = tables[k, bits, x]
        k -= 1
        if tables[k, bits, x] != value:
            x, bits = _last_cut(reach, one, two, x, bits, value, tables[k])
            cuts.append(x)
    return np.array(cuts[::-1])


@njit(cache=True)
def anchored_at_price(reach: Integers, one: Terrain, two: Terrain, price: int) -> Integers:
    """The cuts of a partition that is best when every interval costs ``price`` (at least 1)."""
    m = len(reach) - 1
    table = np.full((4, m + 1), NEVER, np.int64)
    table[:, 0] = 0
    _sweep(reach, one, two, 1, m, table, table, price)
    cuts, x, bits = [m], m, 3
    while x > 0:
        x, bits = _last_cut(reach, one, two, x, bits, table[bits, x] + price, table)
        cuts.append(x)
    return np.array(cuts[::-1])


def best_between(reach: Integers, one: Terrain, two: Terrain, slots: int) -> Integers | None:
    """Cuts of at most ``slots`` intervals that share much with both anchors; None where none was found.

    Optimal while the layers are affordable; beyond, the best at the prices that were tried.
    """
    m = len(reach) - 1
    steps = int((np.arange(m + 1) - reach).sum()) * slots
    if steps <= LAYERED_STEPS_MAX and m * slots <= LAYERED_STEPS_MAX:
        cuts = anchored_layers(reach, one, two, slots)
        return cuts if len(cuts) else None
    low, high, best = 0, 2 * int(one[0][-1]) + 1, None
    price = max(int(one[0][-1]) // slots, 1)
    for _ in range(PRICES_MAX):
        cuts = anchored_at_price(reach, one, two, price)
        if len(cuts) - 1 > slots:
            low = price
        else:
            high, best = price, cuts
        if len(cuts) - 1 == slots or high - low <= 1:
            break
        price = min(2 * price, (low + high) // 2) if best is None else (low + high) // 2
    return best
