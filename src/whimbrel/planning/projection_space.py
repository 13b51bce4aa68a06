"""All feasible partitions of one slot count, in lexicographic order of their cuts, as a tree of shared prefixes.

A node is a prefix of cuts; its children are the next cuts, ascending; a leaf ends at the last bin. So the partitions
that share a prefix have contiguous ranks, and a bound on a node holds for all of them. Nodes are numbered breadth
first: the children of a node are neighbours in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_reach import IntArray, Reach, reach

FloatArray = NDArray[np.float64]
LongArray = NDArray[np.int64]


@dataclass(frozen=True)
class Space:
    """``cut[v]`` is the last cut of node v, ``child[v]`` to ``child[v + 1]`` its children, ``rank[v]`` its first rank.

    Partition r has the interior cuts ``cuts[offset[r]:offset[r + 1]]``, ascending, without 0 and without the end.
    """

    bounds: Reach
    cut: IntArray
    child: IntArray
    rank: IntArray
    offset: LongArray
    cuts: IntArray

    @property
    def slots(self) -> int:
        """The slot count whose limit the partitions keep."""
        return self.bounds.slots

    @property
    def size(self) -> int:
        """How many partitions there are."""
        return len(self.offset) - 1

    def boundaries(self, rank: int) -> tuple[int, ...]:
        """The interior cuts of the partition of this rank."""
        return tuple(int(x) for x in self.cuts[self.offset[rank] : self.offset[rank + 1]])

    def find(self, boundaries: tuple[int, ...]) -> int | None:
        """The rank of a partition by its interior cuts, or None where it is not feasible for this slot count."""
        node = 0
        for x in (*boundaries, self.bounds.bins):
            first, last = int(self.child[node]), int(self.child[node + 1])
            at = first + int(np.searchsorted(self.cut[first:last], x))
            if at == last or self.cut[at] != x:
                return None
            node = at
        return int(self.rank[node])


def list_partitions(bounds: Reach) -> Space:
    """Lists every partition that ``bounds`` allows; an infeasible slot count gives an empty space.

    The caller counts first: this takes memory for every partition.
    """
    if not bounds.feasible:
        nothing = np.zeros(0, np.int32)
        return Space(bounds, np.zeros(1, np.int32), np.ones(2, np.int32), nothing, np.zeros(1, np.int64), nothing)
    ways = _completions(bounds.furthest, bounds.slots)
    cut, child, rank = _grow(bounds.furthest, ways, bounds.slots)
    offset, cuts = _flatten(cut, child, rank, int(ways[bounds.slots, 0]))
    return Space(bounds, cut, child, rank, offset, cuts)


def spaces_of(instance: ProjectionInstance) -> Mapping[int, Space]:
    """The spaces of every slot count of the instance, in the order of its states."""
    return {slots: list_partitions(reach(instance.load, slots, instance.tau)) for slots in instance.states}


@njit(cache=True)
def _completions(furthest: IntArray, slots: int) -> LongArray:
    """``ways[r, x]``: how many ways there are to cover [x, end) with at most r intervals."""
    bins = len(furthest) - 1
    ways = np.zeros((slots + 1, bins + 1), np.int64)
    ways[:, bins] = 1
    for r in range(1, slots + 1):
        for x in range(bins):
            for y in range(x + 1, furthest[x] + 1):
                ways[r, x] += ways[r - 1, y]
    return ways


@njit(cache=True)
def _count_nodes(furthest: IntArray, ways: LongArray, slots: int) -> int:
    """How many prefixes can be completed, the empty one included."""
    bins = len(furthest) - 1
    at = np.zeros(bins + 1, np.int64)
    at[0] = 1
    total = 1
    for j in range(slots):
        after = np.zeros(bins + 1, np.int64)
        for x in range(bins):
            for y in range(x + 1, furthest[x] + 1):
                if ways[slots - j - 1, y] > 0:
                    after[y] += at[x]
        at = after
        total += at.sum()
    return total


@njit(cache=True)
def _grow(furthest: IntArray, ways: LongArray, slots: int) -> tuple[IntArray, IntArray, IntArray]:
    bins = len(furthest) - 1
    nodes = _count_nodes(furthest, ways, slots)
    cut = np.zeros(nodes, np.int32)
    child = np.zeros(nodes + 1, np.int32)
    rank = np.zeros(nodes, np.int32)
    left = np.zeros(nodes, np.int32)
    left[0] = slots
    made = 1
    for v in range(nodes):
        child[v] = made
        if cut[v] == bins:
            continue
        next_rank = rank[v]
        for y in range(cut[v] + 1, furthest[cut[v]] + 1):
            below = ways[left[v] - 1, y]
            if below > 0:
                cut[made] = y
                rank[made] = next_rank
                left[made] = left[v] - 1
                next_rank += below
                made += 1
    child[nodes] = made
    return cut, child, rank


@njit(cache=True)
def _flatten(cut: IntArray, child: IntArray, rank: IntArray, size: int) -> tuple[LongArray, IntArray]:
    """The cuts of every leaf, read from the leaf back to the root."""
    nodes = len(cut)
    parent = np.zeros(nodes, np.int32)
    depth = np.zeros(nodes, np.int32)
    leaf = np.zeros(size, np.int32)
    for v in range(nodes):
        for c in range(child[v], child[v + 1]):
            parent[c] = v
            depth[c] = depth[v] + 1
        if child[v] == child[v + 1]:
            leaf[rank[v]] = v
    offset = np.zeros(size + 1, np.int64)
    for r in range(size):
        offset[r + 1] = offset[r] + depth[leaf[r]] - 1
    cuts = np.zeros(offset[size], np.int32)
    for r in range(size):
        v = parent[leaf[r]]
        for at in range(offset[r + 1] - 1, offset[r] - 1, -1):
            cuts[at] = cut[v]
            v = parent[v]
    return offset, cuts


@njit(cache=True)
def lows(child: IntArray, rank: IntArray, values: FloatArray) -> FloatArray:
    """The least value among the partitions below each node: a range minimum kept per prefix."""
    low = np.empty(len(rank), np.float64)
    for v in range(len(rank) - 1, -1, -1):
        if child[v] == child[v + 1]:
            low[v] = values[rank[v]]
        else:
            low[v] = np.inf
            for c in range(child[v], child[v + 1]):
                low[v] = min(low[v], low[c])
    return low
