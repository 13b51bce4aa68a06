"""The cheapest sequence, exactly: all partitions of every step, and a shortest path through them.

Only for small questions: the number of partitions grows with the power of the slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from whimbrel.planning.interval_matching import shared_state
from whimbrel.planning.ssm_terrain import Integers

if TYPE_CHECKING:
    from whimbrel.planning.sequence import SequenceProblem

PAIRS_MAX = 4_000_000


def shortest_path(problem: SequenceProblem) -> list[Integers] | None:
    """The cuts of every step, or None where there are too many partitions to compare them all."""
    counts = [partition_count(reach, slots) for reach, slots in zip(problem.reach, problem.slots, strict=True)]
    pairs = sum(before * after for before, after in zip([1, *counts], counts, strict=False))
    if pairs > PAIRS_MAX:
        return None
    steps = [partitions(reach, slots) for reach, slots in zip(problem.reach, problem.slots, strict=True)]
    return cheapest_path(problem, steps)


def cheapest_path(problem: SequenceProblem, steps: list[list[Integers]]) -> list[Integers]:
    """The path with the least total cost through one of the given partitions of each step; first ones win ties."""
    costs = np.zeros(1, np.int64)
    befores, came_from = [problem.start], []
    for partitions_here in steps:
        links = np.empty(len(partitions_here), np.int64)
        totals = np.empty(len(partitions_here), np.int64)
        packed, offsets = _packed(befores)
        for index, cuts in enumerate(partitions_here):
            totals[index], links[index] = _best_before(problem.prefix, packed, offsets, costs, cuts)
        costs, befores = totals, partitions_here
        came_from.append(links)
    index = int(np.argmin(costs))
    path = []
    for partitions_here, links in zip(reversed(steps), reversed(came_from), strict=True):
        path.append(partitions_here[index])
        index = int(links[index])
    return path[::-1]


def _packed(partitions_here: list[Integers]) -> tuple[Integers, Integers]:
    sizes = [len(cuts) for cuts in partitions_here]
    return np.concatenate(partitions_here), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@njit(cache=True)
def _best_before(
    prefix: Integers, packed: Integers, offsets: Integers, costs: Integers, cuts: Integers
) -> tuple[int, int]:
    """(total cost, index) of the best partition to come from."""
    total = prefix[-1]
    best, best_at = np.int64(1) << 62, 0
    for index in range(len(costs)):
        before = packed[offsets[index] : offsets[index + 1]]
        cost = costs[index] + total - shared_state(prefix, before, cuts)
        if cost < best:
            best, best_at = cost, index
    return best, best_at


def partition_count(reach: Integers, slots: int) -> int:
    """How many partitions into at most ``slots`` intervals keep the limit."""
    m = len(reach) - 1
    ways = [[1] + [0] * m]
    for _ in range(slots):
        sums = np.concatenate([[0], np.cumsum(np.array(ways[-1], object))])
        ways.append([0] + [int(sums[x] - sums[int(reach[x])]) for x in range(1, m + 1)])
    return sum(row[m] for row in ways)


def partitions(reach: Integers, slots: int) -> list[Integers]:
    """All of them, as cuts, in a fixed order."""
    found: list[Integers] = []

    def extend(cuts: list[int]) -> None:
        if cuts[-1] == 0:
            found.append(np.array(cuts[::-1], np.int64))
        elif len(cuts) <= slots:
            for left in range(int(reach[cuts[-1]]), cuts[-1]):
                extend([*cuts, left])

    extend([len(reach) - 1])
    return found
