"""The single-step program with a weight per interval: the least (weights - kept) over all feasible partitions.

With weights of zero its minimum is what the best single step cannot keep; with discounted future costs as weights it
looks ahead. It never lists a partition, so it serves any number of bins and any load.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whimbrel.planning.projection_overlap import any_after, fill_overlaps, free_after
from whimbrel.planning.projection_reach import IntArray, Reach
from whimbrel.planning.projection_space import FloatArray, LongArray


class Program(NamedTuple):
    """The limits of one slot count and the weight of every interval: ``weights[x, y - x - 1]`` for [x, y)."""

    furthest: IntArray
    lowest: IntArray
    highest: IntArray
    weights: FloatArray

    @staticmethod
    def of(bounds: Reach, weights: FloatArray) -> Program:
        """The program of a slot count."""
        return Program(bounds.furthest, bounds.lowest, bounds.highest, weights)


@njit(cache=True)
def completions(program: Program, table: FloatArray, out: FloatArray) -> None:
    """``out[j, x, u]``: the least (weights - kept) of covering [x, end) after j intervals, exactly.

    u = 0: the old interval that straddles x is still to be given; u = 1: it is not. Only the positions that a feasible
    partition can pass are filled.
    """
    bins = len(program.furthest) - 1
    slots = len(program.lowest) - 1
    out[slots, bins] = 0.0
    for j in range(slots - 1, -1, -1):
        out[j, bins] = 0.0
        for x in range(program.lowest[j], min(program.highest[j], bins - 1) + 1):
            taken, open_ = np.inf, np.inf
            for y in range(max(x + 1, program.lowest[j + 1]), program.furthest[x] + 1):
                entry = table[x, y - x - 1]
                weight = program.weights[x, y - x - 1]
                after_open = out[j + 1, y, 0] + weight
                after_taken = out[j + 1, y, 1] + weight
                taken = min(taken, after_open - entry[1], after_taken - entry[2])
                open_ = min(open_, after_open - entry[0], after_taken - entry[3])
            out[j, x, 0] = min(taken, open_)
            out[j, x, 1] = taken


@njit(cache=True)
def follow(program: Program, table: FloatArray, rest: FloatArray, cuts: IntArray) -> int:
    """Writes the interior cuts of a best partition, read off ``completions``; returns how many there are."""
    bins = len(program.furthest) - 1
    free, whatever = 0.0, 0.0
    x, j = 0, 0
    while True:
        value, chosen, chosen_free, chosen_any = np.inf, bins, 0.0, 0.0
        for y in range(max(x + 1, program.lowest[j + 1]), program.furthest[x] + 1):
            entry = table[x, y - x - 1]
            following = free_after(entry, free, whatever)
            given = any_after(entry, free, whatever, following)
            bound = program.weights[x, y - x - 1]
            bound += min(rest[j + 1, y, 0] - following, rest[j + 1, y, 1] - given)
            if bound < value:
                value, chosen, chosen_free, chosen_any = bound, y, following, given
        if chosen == bins:
            return j
        cuts[j] = chosen
        free, whatever = chosen_free, chosen_any
        x = chosen
        j += 1


@njit(cache=True)
def best_partition(program: Program, old: IntArray, prefix: FloatArray) -> IntArray:
    """The interior cuts of a partition with the least (weights - kept), coming from the partition ``old``.

    The caller has seen to it that a feasible partition exists.
    """
    bins = len(program.furthest) - 1
    table = np.empty((bins, program.weights.shape[1], 4), np.float64)
    rest = np.full((len(program.lowest), bins + 1, 2), np.inf)
    fill_overlaps(old, prefix, program.furthest, table)
    completions(program, table, rest)
    cuts = np.empty(len(program.lowest), np.int32)
    return cuts[: follow(program, table, rest, cuts)].copy()


@njit(cache=True)
def least_values(program: Program, offset: LongArray, cuts: IntArray, prefix: FloatArray, out: FloatArray) -> None:
    """For every old partition the least (weights + cost of the step), the cost being total state less what is kept."""
    bins = len(program.furthest) - 1
    table = np.empty((bins, program.weights.shape[1], 4), np.float64)
    rest = np.full((len(program.lowest), bins + 1, 2), np.inf)
    for s in range(len(offset) - 1):
        fill_overlaps(cuts[offset[s] : offset[s + 1]], prefix, program.furthest, table)
        completions(program, table, rest)
        out[s] = rest[0, 0, 0] + prefix[bins]
