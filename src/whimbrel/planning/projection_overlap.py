"""What the intervals of a new partition can keep of an old one: the tables behind every bound.

A new interval [x, y) is given to at most one old interval, and each old interval to at most one new one; what they
share stays where it is. In order of the bins the pairs never cross, so reading cuts from the left only one question
stays open: is the old interval that straddles the current cut already given away?

    free    the most that the prefix keeps with the straddler not yet given
    any     the most that the prefix keeps, whatever happened to the straddler (any >= free)

Appending [x, y) turns (free, any) into (free', any'):

    free' = max(any + inner, free + first)        any' = max(free', any + last, free + whole)

``first``, ``inner``, ``last`` are what [x, y) shares with the old interval around x, with the best one inside, and
with the one around y; ``whole`` is its own state where it lies strictly inside one old interval. What cannot be is
0, or minus infinity for ``inner`` of an interval inside one old interval.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.planning.projection_reach import IntArray
from whimbrel.planning.projection_space import FloatArray

FIRST, INNER, LAST, WHOLE = 0, 1, 2, 3


@njit(cache=True)
def fill_overlaps(cuts: IntArray, prefix: FloatArray, furthest: IntArray, table: FloatArray) -> None:
    """Fills ``table[x, y - x - 1]`` with (first, inner, last, whole) for the old partition with these interior cuts.

    ``prefix`` are the prefix sums of the state; only intervals within ``furthest`` are filled.
    """
    bins = len(furthest) - 1
    old = 0
    for x in range(bins):
        while old < len(cuts) and cuts[old] <= x:
            old += 1
        _fill_row(cuts, prefix, furthest[x], table[x], x, old)


@njit(cache=True)
def _fill_row(cuts: IntArray, prefix: FloatArray, furthest: int, row: FloatArray, x: int, old: int) -> None:
    """All intervals that start at x; ``old`` counts the old cuts at or before x."""
    bins = len(prefix) - 1
    end = cuts[old] if old < len(cuts) else bins
    for y in range(x + 1, min(end - 1, furthest) + 1):
        entry = row[y - x - 1]
        entry[0], entry[1], entry[2], entry[3] = 0.0, -np.inf, 0.0, prefix[y] - prefix[x]
    first = prefix[end] - prefix[x]
    inner = 0.0
    lower = end
    at = old
    for y in range(end, furthest + 1):
        entry = row[y - x - 1]
        if y == (cuts[at] if at < len(cuts) else bins):
            if at > old:
                inner = max(inner, prefix[y] - prefix[lower])
            lower = y
            at += 1
        entry[0], entry[1], entry[2], entry[3] = first, inner, prefix[y] - prefix[lower], 0.0


@njit(cache=True, inline="always")
def free_after(entry: FloatArray, free: float, whatever: float) -> float:
    """``free'`` of the module's recursion."""
    return max(whatever + entry[1], free + entry[0])


@njit(cache=True, inline="always")
def any_after(entry: FloatArray, free: float, whatever: float, free_next: float) -> float:
    """``any'`` of the module's recursion."""
    return max(free_next, whatever + entry[2], free + entry[3])


@njit(cache=True)
def kept(old: IntArray, new: IntArray, prefix: FloatArray) -> float:
    """The most state that stays when the partition ``old`` becomes ``new``: total state minus this is the cost.

    Walks the common refinement of both; ``best[a, b]`` knows whether the current old and new interval are paired.
    """
    bins = len(prefix) - 1
    best = np.full((2, 2), -np.inf)
    best[0, 0] = 0.0
    i, j, x = 0, 0, 0
    while x < bins:
        old_end = old[i] if i < len(old) else bins
        new_end = new[j] if j < len(new) else bins
        y = min(old_end, new_end)
        best[1, 1] = max(best[1, 1], best[0, 0] + prefix[y] - prefix[x])
        if y == old_end:
            best[0] = np.maximum(best[0], best[1])
            best[1] = -np.inf
            i += 1
        if y == new_end:
            best[:, 0] = np.maximum(best[:, 0], best[:, 1])
            best[:, 1] = -np.inf
            j += 1
        x = y
    return best[0, 0]
