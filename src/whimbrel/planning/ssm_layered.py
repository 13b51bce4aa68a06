"""Single-step migration, exactly, in O((m + n) n'): the layered program. Public kernels:

    ssm_gain(work: int64[m], state: int64[m], boundaries: int64[], slots: int, limit: int) -> int
    ssm_boundaries(work, state, boundaries, slots, limit) -> (gain, cuts: int64[], keepers: int64[])   [ssm_trace]

``gain`` is the most state that can stay where it is, or -1 where no plan keeps the limit. ``cuts`` are the ascending
positions 0..m of the plan's intervals (at most ``slots`` of them); ``keepers[j]`` is the old interval whose slot
keeps interval j, or -1 where any unused slot may take it. The cost of the plan is ``sum(state) - gain``.

How it works. ``unused[k][x]`` is the best gain of the prefix [0, x) with at most k intervals when the slot of the old
interval around x has not been used yet; ``any_[k][x]`` is the same without that condition. They agree on old
boundaries. A new interval [l, x) gains from one slot, and slots are used in order, because overlaps never cross.
Let i be the old interval of bin x - 1 and b its left end.

* l >= b. The interval lies inside i. ``unused`` never grows with x inside an old interval (give the last bins away and
  nothing is lost), so only the leftmost l matters, both for leaving i unused and for letting i keep [l, x).
  A second piece of a used i comes from the largest ``any_`` in a sliding window.
* l < b. The interval keeps nothing, or the largest complete old interval to the right of l, or the rest of the old
  interval around the leftmost l (further right there is less of it and no better prefix), or i keeps [b, x).
  Prefix and complete interval are chosen together: one sliding aggregate (best prefix, best interval, best pair in
  order) over [reach, b), kept as two stacks, costs O(1) a position.

Layer k needs only the positions of ``band_of``. With the ``previous`` tables equal to the tables being filled and a
``penalty`` per interval, the same sweep solves the Lagrangian program without layers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.planning.ssm_terrain import NEVER, Integers, Terrain, band_of, reach_of, terrain_of

Scratch = tuple[Integers, Integers, Integers]


@njit(cache=True)
def sweep(  # noqa: PLR0915 - one pass in one piece: it may call nothing, and every line runs per position
    reach: Integers,
    terrain: Terrain,
    lowest: int,
    highest: int,
    unused_before: Integers,
    any_before: Integers,
    unused: Integers,
    any_: Integers,
    penalty: int,
    scratch: Scratch,
) -> None:
    """Fills ``unused`` and ``any_`` for the positions lowest..highest from the tables of one interval fewer.

    Calls nothing and only indexes, so that its plain Python form runs on lists as well.
    """
    prefix, start, end, size = terrain
    front_best, front_pair, queue = scratch
    head = tail = pivot = reach[lowest]
    back_best, back_interval, back_pair = NEVER, NEVER, NEVER
    queue_head = queue_tail = 0
    queued = reach[lowest]
    for x in range(lowest, highest + 1):
        left, b = reach[x], start[x]
        inner = max(left, b)
        keep_from_inner = unused_before[inner] + prefix[x] - prefix[inner]
        if queued < inner:
            queued = inner
            queue_head = queue_tail = 0
        while queued < x:
            while queue_tail > queue_head and any_before[queue[queue_tail - 1]] <= any_before[queued]:
                queue_tail -= 1
            queue[queue_tail] = queued
            queue_tail += 1
            queued += 1
        while queue[queue_head] < inner:
            queue_head += 1
        free_inside = any_before[queue[queue_head]]
        without = unused_before[inner]
        if left < b:
            if left >= tail:
                head = tail = pivot = left
                back_best, back_interval, back_pair = NEVER, NEVER, NEVER
            while tail < b:
                if size[tail] > NEVER:
                    back_interval = max(back_interval, size[tail])
                    back_pair = max(back_pair, max(back_best, any_before[tail]) + size[tail])
                back_best = max(back_best, any_before[tail])
                tail += 1
            head = max(head, left)
            if head >= pivot:
                back_best, back_interval, back_pair = NEVER, NEVER, NEVER
                for at in range(tail - 1, head - 1, -1):
                    back_interval = max(back_interval, size[at])
                    back_pair = max(back_pair, any_before[at] + back_interval)
                    back_best = max(back_best, any_before[at])
                    front_best[at], front_pair[at] = back_best, back_pair
                pivot = tail
                back_best, back_interval, back_pair = NEVER, NEVER, NEVER
            best = max(front_best[head], back_best, any_before[b])
            pair = max(front_pair[head], back_pair, front_best[head] + back_interval)
            rest = unused_before[left] + prefix[end[left]] - prefix[left]
            without = max(best, pair, rest)
            keep_from_inner = best + prefix[x] - prefix[b]
        within = max(without, keep_from_inner, free_inside)
        if end[x - 1] == x:
            without = within
        unused[x] = max(without - penalty, unused_before[x])
        any_[x] = max(within - penalty, any_before[x])


@njit(cache=True)
def fresh_scratch(m: int) -> Scratch:
    """Room for the two sliding windows of a sweep."""
    room = np.empty((3, m + 1), np.int64)
    return room[0], room[1], room[2]


@njit(cache=True)
def _empty_layer(m: int) -> Integers:
    return np.full(m + 1, NEVER, np.int64)


@njit(cache=True)
def ssm_gain(work: Integers, state: Integers, boundaries: Integers, slots: int, limit: int) -> int:
    """The most state that can stay in place, or -1 where no plan keeps the limit."""
    m = len(work)
    reach = reach_of(work, limit)
    lowest, highest = band_of(reach, slots)
    if highest[slots] < m:
        return np.int64(-1)
    terrain = terrain_of(state, boundaries)
    scratch = fresh_scratch(m)
    unused, any_ = _empty_layer(m), _empty_layer(m)
    unused_next, any_next = _empty_layer(m), _empty_layer(m)
    unused[0] = any_[0] = 0
    for k in range(1, slots + 1):
        unused_next[0] = any_next[0] = 0
        low, high = max(lowest[k], 1), highest[k]
        sweep(reach, terrain, low, high, unused, any_, unused_next, any_next, 0, scratch)
        unused, unused_next = unused_next, unused
        any_, any_next = any_next, any_
    return any_[m]


@njit(cache=True)
def fill_layers(
    reach: Integers,
    terrain: Terrain,
    lowest: Integers,
    highest: Integers,
    first: int,
    last: int,
    unused: Integers,
    any_: Integers,
) -> None:
    """Fills the rows 1..last-first of two tables whose row 0 is layer ``first``."""
    scratch = fresh_scratch(len(reach) - 1)
    for k in range(first + 1, last + 1):
        row = k - first
        unused[row, 0] = any_[row, 0] = 0
        low, high = max(lowest[k], 1), highest[k]
        before = row - 1
        sweep(reach, terrain, low, high, unused[before], any_[before], unused[row], any_[row], 0, scratch)
