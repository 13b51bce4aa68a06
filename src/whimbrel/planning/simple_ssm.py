"""The basic program of the papers, repaired: the readable reference for the fast ones, O(m^2 n n').

``best[x][y]`` after k rounds is the most state kept by covering the bins before x with at most k intervals when only
the slots of the first y old intervals may keep anything. Slots are used in the order of their intervals: two overlaps
never cross. A last interval [l, x) keeps nothing, or is kept by slot y - 1, or leaves slot y - 1 alone.
"""

from __future__ import annotations

import numpy as np

from whimbrel.planning.instance import Instance, Integers
from whimbrel.planning.ssm import Intervals, reach_within

NEVER = -(1 << 60)


def simple_ssm(instance: Instance) -> Intervals | None:
    """The intervals that keep the most state in place, or None where no plan keeps the limit."""
    reach = reach_within(instance).tolist()
    m, n = instance.load.bins, len(instance.slot_ids)
    overlap = _Overlap(instance)
    rounds = [np.full((m + 1, n + 1), NEVER, np.int64)]
    rounds[0][0] = 0
    for _ in range(min(instance.slots, m)):
        before = rounds[-1]
        after = before.copy()
        for x in range(1, m + 1):
            for left in range(reach[x], x):
                np.maximum(after[x], before[left], out=after[x])
                np.maximum(after[x, 1:], before[left, :-1] + overlap.of(left, x), out=after[x, 1:])
            np.maximum.accumulate(after[x], out=after[x])
        rounds.append(after)
    if rounds[-1][m, n] < 0:
        return None
    return _trace(rounds, reach, overlap)


class _Overlap:
    """State of an interval inside each old interval."""

    def __init__(self, instance: Instance) -> None:
        self.prefix: Integers = np.concatenate([[0], np.cumsum(instance.keepable_state)])
        self.lower, self.upper = instance.boundaries[:-1], instance.boundaries[1:]

    def of(self, left: int, right: int) -> Integers:
        low, high = np.maximum(self.lower, left), np.minimum(self.upper, right)
        return np.where(low < high, self.prefix[high] - self.prefix[np.minimum(low, high)], 0)  # type: ignore[no-any-return]


def _trace(rounds: list[Integers], reach: list[int], overlap: _Overlap) -> Intervals:
    k, x, y = len(rounds) - 1, len(reach) - 1, rounds[0].shape[1] - 1
    gain = int(rounds[k][x, y])
    cuts, keepers = [x], []
    while x > 0:
        value, before = rounds[k][x, y], rounds[k - 1]
        if before[x, y] == value:
            k -= 1
        elif y > 0 and rounds[k][x, y - 1] == value:
            y -= 1
        else:
            x, keeper = _last(value, before, reach[x], x, y, overlap)
            y -= keeper >= 0
            cuts.append(x)
            keepers.append(keeper)
            k -= 1
    return Intervals(gain, tuple(cuts[::-1]), tuple(keepers[::-1]))


def _last(value: int, before: Integers, reach: int, x: int, y: int, overlap: _Overlap) -> tuple[int, int]:
    """(left, keeper) of a last interval that reaches ``value``; the caller knows that one exists."""
    for left in range(reach, x):
        if before[left, y] == value:
            return left, -1
        if y > 0 and before[left, y - 1] + overlap.of(left, x)[y - 1] == value:
            return left, y - 1
    raise AssertionError("the table holds a value that no last interval explains")
