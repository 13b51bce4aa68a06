"""Splits the costs of a space into weights per interval and a remainder per partition.

Invariant: for every partition, the weights of its intervals and its remainder sum to its cost, whatever the fit was
worth. A better fit makes the search's bounds tighter; it never changes an answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsmr

from whimbrel.planning.projection_reach import IntArray
from whimbrel.planning.projection_space import FloatArray, LongArray, Space, lows

FIT_STEPS = 40


@dataclass(frozen=True)
class Split:
    """``weights[x, y - x - 1]`` for the interval [x, y); ``low[v]``: the least remainder below node v of the tree."""

    weights: FloatArray
    remainder: FloatArray
    low: FloatArray


def fit_weights(space: Space, costs: FloatArray) -> FloatArray:
    """The weights per interval whose sums come nearest to the costs, by least squares."""
    shape = (space.bounds.bins, space.bounds.widest)
    if not costs.any():
        return np.zeros(shape)
    matrix = csr_matrix(_incidence(space), shape=(space.size, shape[0] * shape[1]))
    solution = lsmr(matrix, costs, damp=1e-6, maxiter=FIT_STEPS, atol=1e-9, btol=1e-9)[0]
    return np.ascontiguousarray(solution.reshape(shape))


def split(space: Space, costs: FloatArray, weights: FloatArray) -> Split:
    """The split of ``costs`` that these weights give."""
    remainder = costs - _sums(space.offset, space.cuts, weights, space.bounds.bins)
    return Split(weights, remainder, lows(space.child, space.rank, remainder))


def _incidence(space: Space) -> tuple[FloatArray, IntArray, LongArray]:
    """The rows (data, columns, row starts) that say which intervals each partition has."""
    starts = space.offset + np.arange(space.size + 1)
    columns = _interval_ids(space.offset, space.cuts, space.bounds.bins, space.bounds.widest)
    return np.ones(len(columns)), columns, starts


@njit(cache=True)
def _interval_ids(offset: LongArray, cuts: IntArray, bins: int, widest: int) -> IntArray:
    ids = np.empty(len(cuts) + len(offset) - 1, np.int32)
    at = 0
    for r in range(len(offset) - 1):
        x = 0
        for k in range(offset[r], offset[r + 1] + 1):
            y = cuts[k] if k < offset[r + 1] else bins
            ids[at] = x * widest + y - x - 1
            at += 1
            x = y
    return ids


@njit(cache=True)
def _sums(offset: LongArray, cuts: IntArray, weights: FloatArray, bins: int) -> FloatArray:
    sums = np.zeros(len(offset) - 1, np.float64)
    for r in range(len(offset) - 1):
        x = 0
        for k in range(offset[r], offset[r + 1] + 1):
            y = cuts[k] if k < offset[r + 1] else bins
            sums[r] += weights[x, y - x - 1]
            x = y
    return sums
