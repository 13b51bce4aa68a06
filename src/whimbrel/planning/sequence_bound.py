"""What no sequence can beat, where all partitions of all steps are too many to compare.

Two facts. The way to a step is never shorter than the direct plan from the start to it, which single-step planning gives
exactly. And from any partition of one step to any partition of the next, what stays lies in pairs of an old and a new
interval; each such piece is an interval that keeps the limits of both steps, the pieces are disjoint, and there are at
most as many as the fewer slots. So at most the largest state that so many disjoint intervals can cover stays, and the
rest moves whatever was chosen. The bound goes directly to the best step and pays the second for every step after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numba import njit

from whimbrel.planning.ssm_terrain import Integers


def lower_bound(direct: Sequence[Fraction], between: Sequence[Fraction]) -> Fraction:
    """``direct[i]`` moves from the start to step i at least; ``between[i]`` from step i to the next.

    >>> lower_bound([Fraction(5), Fraction(1), Fraction(6)], [Fraction(2), Fraction(3)])
    Fraction(10, 1)
    """
    return max(cost + sum(between[index:], Fraction(0)) for index, cost in enumerate(direct))


def least_between(state: Integers, reach: Sequence[Integers], slots: Sequence[int]) -> list[int]:
    """For each step but the last: the least state that moves on the way to the next, wherever both lie."""
    total = int(state.sum())
    prefix = np.concatenate([np.zeros(1, np.int64), np.cumsum(state)])
    pairs = zip(pairwise(reach), pairwise(slots), strict=True)
    return [total - int(most_covered(prefix, np.maximum(*both), min(counts))) for both, counts in pairs]


@njit(cache=True)
def most_covered(prefix: Integers, reach: Integers, intervals: int) -> int:
    """The most state that so many disjoint intervals can cover, each of them within ``reach``.

    >>> int(most_covered(np.array([0, 5, 6, 9]), np.array([0, 0, 1, 2]), 2))
    8
    """
    m = len(prefix) - 1
    covered = np.zeros(m + 1, np.int64)
    for _ in range(intervals):
        before = covered.copy()
        for x in range(1, m + 1):
            covered[x] = max(covered[x - 1], before[reach[x]] + prefix[x] - prefix[reach[x]])
    return covered[m]
