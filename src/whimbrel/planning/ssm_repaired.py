"""The published single-step program with its errors repaired, O(m^2 n'): kept to compare with, not to plan with.

``best[k][a][u]`` is the most state kept by covering the bins from position a on with at most k intervals; u says that
the slot of the old interval around a was used already. The next interval that keeps anything ends at x and reaches as
far to the left as the limit lets it; what lies between a and it is cut greedily into intervals that keep nothing. It is
kept by the complete old interval it shares most with, by the one around x, or by none.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.planning.ssm_terrain import NEVER, Integers, terrain_of


@njit(cache=True)
def repaired_gain(work: Integers, state: Integers, boundaries: Integers, slots: int, limit: int) -> int:
    """The most state that can stay in place, or -1 where no plan keeps the limit."""
    m = len(work)
    if work.max() > limit:
        return np.int64(-1)
    before = np.zeros(m + 1, np.int64)
    before[1:] = np.cumsum(work)
    terrain = terrain_of(state, boundaries)
    best = np.full((slots + 1, m + 1, 2), NEVER, np.int64)
    best[:, m, :] = 0
    for a in range(m - 1, -1, -1):
        needed = np.zeros(m + 1, np.int64)
        lower = a
        for x in range(a + 1, m + 1):
            while before[x] - before[lower] > limit:
                lower += 1
            needed[x] = 1 + needed[lower]
            if needed[x] > slots:
                break
            _extend(best, terrain, a, lower, x, needed[x], slots)
        for k in range(1, slots + 1):
            for u in range(2):
                best[k, a, u] = max(best[k, a, u], best[k - 1, a, u])
    return max(best[slots, 0, 0], -1)


@njit(cache=True)
def _extend(best: Integers, terrain: tuple, a: int, lower: int, x: int, needed: int, slots: int) -> None:  # type: ignore[type-arg]
    """Offers [lower, x), and greedy cuts before it, to every count of intervals."""
    prefix, start, end, _ = terrain
    around_end = end[a]
    for u in range(2):
        u_after = 1 if u == 1 and x < around_end else 0
        complete = _largest_complete(terrain, around_end if u == 1 else a, lower, x)
        straddling = NEVER
        if end[x - 1] > x and not (u == 1 and x < around_end):
            straddling = prefix[x] - prefix[max(lower, start[x])]
        for k in range(needed, slots + 1):
            rest_free = best[k - needed, x, u_after]
            offer = max(rest_free, rest_free + complete)
            if straddling > NEVER:
                offer = max(offer, straddling + best[k - needed, x, 1])
            best[k, a, u] = max(best[k, a, u], offer)


@njit(cache=True)
def _largest_complete(terrain: tuple, first: int, lower: int, x: int) -> int:  # type: ignore[type-arg]
    """The most that [lower, x) shares with one old interval that ends at or before x and begins not before ``first``'s."""
    prefix, _, end, _ = terrain
    at = max(first, lower)
    largest = 0
    while at < x and end[at] <= x:
        largest = max(largest, prefix[end[at]] - prefix[at])
        at = end[at]
    return largest
