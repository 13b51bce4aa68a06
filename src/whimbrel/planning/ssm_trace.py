"""From the tables of the single-step programs back to a plan: which last interval reaches this value?

Each interval scans its own window once, so a whole plan costs O(m). Ties fall in one fixed order: fewer intervals,
then the slot of the interval around the cut, then no slot, then complete old intervals from the right, then the rest
of the leftmost one; equal instances therefore always give equal plans.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.planning.ssm_layered import fill_layers
from whimbrel.planning.ssm_terrain import NEVER, Integers, Terrain, band_of, reach_of, terrain_of


@njit(cache=True)
def last_interval(  # noqa: PLR0911 - one return for each kind of last interval
    reach: Integers,
    terrain: Terrain,
    x: int,
    used: bool,
    value: int,
    unused_before: Integers,
    any_before: Integers,
) -> tuple[int, int, bool]:
    """(left, keeper, used before): the last interval [left, x) of a plan worth ``value``; left is -1 where none is.

    ``keeper`` is a position inside the old interval whose slot keeps it, or -1.
    """
    prefix, start, end, size = terrain
    left, b = reach[x], start[x]
    inner = max(left, b)
    if used:
        if unused_before[inner] + prefix[x] - prefix[inner] == value:
            return inner, b, False
        for at in range(inner, x):
            if any_before[at] == value:
                return at, -1, True
    elif unused_before[inner] == value:
        return inner, -1, inner == b
    complete, keeper = NEVER, -1
    for at in range(b, left - 1, -1):
        if at < b and size[at] > complete:
            complete, keeper = size[at], at
        if used and any_before[at] + prefix[x] - prefix[b] == value:
            return at, b, True
        if any_before[at] == value:
            return at, -1, True
        if complete > NEVER and any_before[at] + complete == value:
            return at, keeper, True
    if left < b and unused_before[left] + prefix[end[left]] - prefix[left] == value:
        return left, left, False
    return -1, -1, False


@njit(cache=True)
def _trace_block(
    reach: Integers,
    terrain: Terrain,
    first: int,
    last: int,
    x: int,
    used: bool,
    unused: Integers,
    any_: Integers,
    cuts: Integers,
    keepers: Integers,
    count: int,
) -> tuple[int, bool, int]:
    """Follows the plan through the layers ``last``..``first``; returns where it stands then."""
    k = last
    while k > first and x > 0:
        row = k - first
        value = any_[row, x] if used else unused[row, x]
        before = any_[row - 1, x] if used else unused[row - 1, x]
        if before == value:
            k -= 1
            continue
        settled = used or terrain[2][x - 1] == x
        left, keeper, used = last_interval(reach, terrain, x, settled, value, unused[row - 1], any_[row - 1])
        cuts[count], keepers[count] = left, keeper
        x = left
        count += 1
        k -= 1
    return x, used, count


@njit(cache=True)
def _checkpoints(
    reach: Integers, terrain: Terrain, lowest: Integers, highest: Integers, slots: int, stride: int
) -> tuple[Integers, Integers]:
    """The layers 0, stride, 2 stride, ...: enough to refill any block of layers between two of them."""
    m = len(reach) - 1
    blocks = (slots + stride - 1) // stride
    unused = np.full((blocks, m + 1), NEVER, np.int64)
    any_ = np.full((blocks, m + 1), NEVER, np.int64)
    unused[0, 0] = any_[0, 0] = 0
    if blocks > 1:
        rolling_unused = np.full((stride + 1, m + 1), NEVER, np.int64)
        rolling_any = np.full((stride + 1, m + 1), NEVER, np.int64)
        for block in range(blocks - 1):
            first = block * stride
            rolling_unused[0], rolling_any[0] = unused[block], any_[block]
            fill_layers(reach, terrain, lowest, highest, first, first + stride, rolling_unused, rolling_any)
            unused[block + 1], any_[block + 1] = rolling_unused[stride], rolling_any[stride]
            rolling_unused[:], rolling_any[:] = NEVER, NEVER
    return unused, any_


@njit(cache=True)
def plan_layers(
    reach: Integers, state: Integers, boundaries: Integers, slots: int, stride: int
) -> tuple[int, Integers, Integers]:
    """(gain, cuts, keepers) for a given reach; a plan keeps ``stride`` layers at a time and refills the others."""
    m = len(reach) - 1
    nothing = np.empty(0, np.int64)
    lowest, highest = band_of(reach, slots)
    if highest[slots] < m:
        return np.int64(-1), nothing, nothing
    terrain = terrain_of(state, boundaries)
    kept_unused, kept_any = _checkpoints(reach, terrain, lowest, highest, slots, stride)
    cuts, keepers = np.empty(slots + 1, np.int64), np.empty(slots, np.int64)
    gain, x, used, count = np.int64(0), m, True, 0
    for block in range(kept_any.shape[0] - 1, -1, -1):
        first = block * stride
        last = min(first + stride, slots)
        unused = np.full((last - first + 1, m + 1), NEVER, np.int64)
        any_ = np.full((last - first + 1, m + 1), NEVER, np.int64)
        unused[0], any_[0] = kept_unused[block], kept_any[block]
        fill_layers(reach, terrain, lowest, highest, first, last, unused, any_)
        if last == slots:
            gain = any_[last - first, m]
        x, used, count = _trace_block(reach, terrain, first, last, x, used, unused, any_, cuts, keepers, count)
    return gain, _ascending(cuts, count, m), old_intervals_of(keepers[:count][::-1], boundaries)


@njit(cache=True)
def _ascending(cuts: Integers, count: int, m: int) -> Integers:
    answer = np.empty(count + 1, np.int64)
    answer[count] = m
    for j in range(count):
        answer[count - 1 - j] = cuts[j]
    return answer


@njit(cache=True)
def old_intervals_of(positions: Integers, boundaries: Integers) -> Integers:
    """The index of the old interval around each position; -1 stays -1."""
    answer = np.empty(len(positions), np.int64)
    for j in range(len(positions)):
        at = positions[j]
        answer[j] = -1 if at < 0 else np.searchsorted(boundaries, at, side="right") - 1
    return answer


@njit(cache=True)
def stride_of(m: int, slots: int, cells_max: int) -> int:
    """How many layers to keep at a time so that the tables stay under ``cells_max`` entries where possible."""
    if (m + 1) * (slots + 1) <= cells_max:
        return max(slots, 1)
    return max(int(np.ceil(np.sqrt(slots))), 1)


@njit(cache=True)
def ssm_boundaries(
    work: Integers, state: Integers, boundaries: Integers, slots: int, limit: int
) -> tuple[int, Integers, Integers]:
    """(gain, cuts, keepers) of a plan that moves the least; gain -1 and no cuts where no plan keeps the limit."""
    stride = stride_of(len(work), slots, 1 << 23)
    return plan_layers(reach_of(work, limit), state, boundaries, slots, stride)
