"""How far an interval may reach under the limit of a slot count: the only place where work is compared.

Invariant: every comparison is exact. Work is scaled to integers by the common denominator of its decimals, so the
rest of the projection works on bin positions alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from whimbrel.model import BadInput, Limit, Load
from whimbrel.model.limit import exact

IntArray = NDArray[np.int32]


@dataclass(frozen=True)
class Reach:
    """``furthest[l]`` is the largest end x at which [l, x) still keeps the limit of ``slots`` slots.

    ``lowest[j]`` and ``highest[j]`` bound the j-th cut of every feasible partition; where no partition is feasible
    ``feasible`` is False and they mean nothing.
    """

    slots: int
    furthest: IntArray
    lowest: IntArray
    highest: IntArray
    feasible: bool

    @property
    def bins(self) -> int:
        """How many bins the load has."""
        return len(self.furthest) - 1

    @property
    def widest(self) -> int:
        """The most bins that any feasible interval holds."""
        return int((self.furthest - np.arange(self.bins + 1)).max())


def reach(load: Load, slots: int, tau: float | str) -> Reach:
    """The reach of every start position. Raises BadInput for a tau below zero or fewer than one slot.

    >>> reach(Load((1, 1, 1), (1, 1, 1)), slots=2, tau=0.4).furthest.tolist()
    [2, 3, 3, 3]
    """
    if slots < 1:
        raise BadInput(f"{slots} slots cannot hold anything: name at least one")
    prefix, limit = _scaled(load.work, Limit.of(load.work, slots, tau).value)
    furthest = _furthest(prefix, limit)
    highest = _greedy(furthest, slots)
    lowest = _lowest(furthest, slots)
    return Reach(slots, furthest, lowest, highest, bool(highest[slots] == load.bins))


def _scaled(work: Sequence[int | float], limit: Fraction) -> tuple[list[int], int]:
    """Prefix sums of the work as integers, and the limit on the same scale, rounded down."""
    values = [exact(value) for value in work]
    scale = lcm(*(value.denominator for value in values)) if values else 1
    prefix = [0]
    for value in values:
        prefix.append(prefix[-1] + int(value * scale))
    return prefix, int(limit * scale)


def _furthest(prefix: list[int], limit: int) -> IntArray:
    bins = len(prefix) - 1
    ends = np.empty(bins + 1, np.int32)
    end = 0
    for start in range(bins + 1):
        end = max(end, start)
        while end < bins and prefix[end + 1] - prefix[start] <= limit:
            end += 1
        ends[start] = end
    return ends


def _greedy(furthest: IntArray, slots: int) -> IntArray:
    highest = np.zeros(slots + 1, np.int32)
    for j in range(slots):
        highest[j + 1] = furthest[highest[j]]
    return highest


def _lowest(furthest: IntArray, slots: int) -> IntArray:
    """The least position from which the remaining intervals can still reach the end."""
    bins = len(furthest) - 1
    lowest = np.zeros(slots + 1, np.int32)
    lowest[slots] = bins
    for j in range(slots - 1, -1, -1):
        lowest[j] = np.searchsorted(furthest, lowest[j + 1])
    return lowest
