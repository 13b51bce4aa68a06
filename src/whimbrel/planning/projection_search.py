"""The least of (cost of a step + discounted cost of what follows) over all partitions, without looking at them all.

The discounted costs are split into an additive part, a weight per interval, and a remainder per partition. The
additive part goes into a dynamic program over suffixes, which is exact for it; the remainder is bounded by its minimum
below a node of the tree of partitions. So a node whose bound is no better than the best
partition found is cut off with everything below it, and what is left is the exact minimum.

Everything here is in one unit: state. A value is (weights and remainder) - kept; the caller adds the total state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whimbrel.planning.projection_overlap import any_after, fill_overlaps, free_after
from whimbrel.planning.projection_program import Program, completions
from whimbrel.planning.projection_reach import IntArray
from whimbrel.planning.projection_space import FloatArray, LongArray

ROUNDING = 1e-14
"""As a share of the total state: two orders of summing the same numbers are not taken for an improvement."""


class Target(NamedTuple):
    """What a search looks through: one space's tree, the remainders of its discounted costs, and their additive part."""

    cut: IntArray
    child: IntArray
    rank: IntArray
    offset: LongArray
    cuts: IntArray
    remainder: FloatArray
    low: FloatArray
    program: Program


@njit(cache=True)
def value_of(target: Target, rank: int, table: FloatArray) -> float:
    """The value of the partition of this rank."""
    bins = len(target.program.furthest) - 1
    free, whatever, weight = 0.0, 0.0, 0.0
    x = 0
    for k in range(target.offset[rank], target.offset[rank + 1] + 1):
        y = target.cuts[k] if k < target.offset[rank + 1] else bins
        entry = table[x, y - x - 1]
        weight += target.program.weights[x, y - x - 1]
        following = free_after(entry, free, whatever)
        whatever = any_after(entry, free, whatever, following)
        free = following
        x = y
    return weight - whatever + target.remainder[rank]


@njit(cache=True)
def descend(target: Target, table: FloatArray, rest: FloatArray) -> tuple[float, int]:
    """One path from the root that follows the best bound: a good partition to start a search from."""
    bins = len(target.program.furthest) - 1
    node, depth, x = 0, 0, 0
    free, whatever, weight, value = 0.0, 0.0, 0.0, 0.0
    while x < bins:
        value, chosen = np.inf, target.child[node]
        for c in range(target.child[node], target.child[node + 1]):
            y = target.cut[c]
            entry = table[x, y - x - 1]
            following = free_after(entry, free, whatever)
            given = any_after(entry, free, whatever, following)
            bound = weight + target.program.weights[x, y - x - 1] + target.low[c]
            bound += min(rest[depth + 1, y, 0] - following, rest[depth + 1, y, 1] - given)
            if bound < value:
                value, chosen = bound, c
        y = target.cut[chosen]
        entry = table[x, y - x - 1]
        following = free_after(entry, free, whatever)
        whatever = any_after(entry, free, whatever, following)
        free = following
        weight += target.program.weights[x, y - x - 1]
        node, x = chosen, y
        depth += 1
    return value, target.rank[node]


@njit(cache=True)
def search(
    target: Target, table: FloatArray, rest: FloatArray, best: float, best_rank: int, rounding: float
) -> tuple[float, int, int]:
    """The least value, the rank that has it, and how many partitions were evaluated.

    ``best`` and ``best_rank`` are a partition already evaluated. A node is cut off where its bound is not better than
    ``best`` by more than ``rounding``.
    """
    slots = len(target.program.lowest) - 1
    bins = len(target.program.furthest) - 1
    at, end = np.zeros(slots + 1, np.int64), np.zeros(slots + 1, np.int64)
    position = np.zeros(slots + 1, np.int64)
    state = np.zeros((slots + 1, 3), np.float64)
    evaluated, depth = 0, 0
    at[0], end[0] = target.child[0], target.child[1]
    while depth >= 0:
        if at[depth] == end[depth]:
            depth -= 1
            continue
        node = at[depth]
        at[depth] += 1
        x, y = position[depth], target.cut[node]
        entry = table[x, y - x - 1]
        free = free_after(entry, state[depth, 0], state[depth, 1])
        whatever = any_after(entry, state[depth, 0], state[depth, 1], free)
        weight = state[depth, 2] + target.program.weights[x, y - x - 1]
        ahead = min(rest[depth + 1, y, 0] - free, rest[depth + 1, y, 1] - whatever)
        bound = weight + target.low[node] + ahead
        evaluated += y == bins
        if bound >= best - rounding:
            continue
        if y == bins:
            best, best_rank = bound, target.rank[node]
            continue
        depth += 1
        at[depth], end[depth] = target.child[node], target.child[node + 1]
        position[depth] = y
        state[depth, 0], state[depth, 1], state[depth, 2] = free, whatever, weight
    return best, best_rank, evaluated


@njit(cache=True)
def minimise_block(
    target: Target,
    source_offset: LongArray,
    source_cuts: IntArray,
    prefix: FloatArray,
    warm: IntArray,
    values: FloatArray,
    chosen: IntArray,
) -> int:
    """Solves every source of the block; fills ``values`` and ``chosen``; returns how many pairs it evaluated.

    ``prefix`` are the prefix sums of the state. ``warm`` holds each source's last choice (-1: none); the choice of the
    source before it is tried as well, because neighbours in rank differ in their last cuts only.
    """
    bins = len(target.program.furthest) - 1
    table = np.empty((bins, target.program.weights.shape[1], 4), np.float64)
    rest = np.full((len(target.program.lowest), bins + 1, 2), np.inf)
    rounding = ROUNDING * prefix[bins]
    evaluated, neighbour = 0, -1
    for s in range(len(warm)):
        fill_overlaps(source_cuts[source_offset[s] : source_offset[s + 1]], prefix, target.program.furthest, table)
        completions(target.program, table, rest)
        best, best_rank = descend(target, table, rest)
        for guess in range(2):
            rank = warm[s] if guess == 0 else neighbour
            if rank >= 0 and rank != best_rank:
                value = value_of(target, rank, table)
                evaluated += 1
                if value < best:
                    best, best_rank = value, rank
        best, best_rank, seen = search(target, table, rest, best, best_rank, rounding)
        evaluated += seen + 1
        values[s] = best + prefix[bins]
        chosen[s] = best_rank
        neighbour = best_rank
    return evaluated
