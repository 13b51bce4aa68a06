"""What an additive cost may depend on: features of one interval, whatever the load is today.

An interval [x, y) of a slot count is described by its cuts' places, the share of the limit that its work fills, and
the pair of places it lies between. Places are read on a grid, so the same coefficients serve any number of bins; the
share is taken from the load at hand, so they go on serving when the load drifts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsmr

from whimbrel.model import Load
from whimbrel.planning.projection_reach import IntArray, Reach
from whimbrel.planning.projection_space import FloatArray, LongArray

KNOTS_MOST = 128
PAIR_CELLS_MOST = 64
SHARE_KNOTS = 9
DAMPING = 0.3
"""How much a coefficient must explain before it departs from zero, against noise of the size of the costs' spread."""

PAIR_SCALE = 0.5
"""Pairs of places are many and each is seen rarely, so they are trusted less than places alone."""


@dataclass(frozen=True)
class Features:
    """Where the coefficients of each kind begin: one for an interval at all, then cuts, shares of work, and pairs."""

    bins: int

    @property
    def knots(self) -> int:
        """Places of a cut."""
        return min(self.bins, KNOTS_MOST) + 1

    @property
    def cells(self) -> int:
        """Places of an end of a pair."""
        return min(self.bins, PAIR_CELLS_MOST) + 1

    @property
    def count(self) -> int:
        """How many coefficients there are."""
        return 1 + self.knots + SHARE_KNOTS + self.cells**2

    def weights(self, coefficients: FloatArray, bounds: Reach, load: Load) -> FloatArray:
        """The weight of every interval [x, y) within reach, as a table by x and y - x - 1."""
        x, y = np.meshgrid(np.arange(self.bins, dtype=np.int64), np.arange(1, bounds.widest + 1), indexing="ij")
        y = np.minimum(x + y, self.bins)
        columns, amounts = self.describe(x.ravel(), y.ravel(), bounds, load)
        return np.ascontiguousarray((coefficients[columns] * amounts).sum(axis=1).reshape(x.shape))

    def describe(self, x: LongArray, y: LongArray, bounds: Reach, load: Load) -> tuple[LongArray, FloatArray]:
        """The (columns, amounts) of the features of intervals [x, y); six each."""
        work = np.concatenate([[0.0], np.cumsum(np.asarray(load.work, np.float64))])
        limit = max(float(np.max(work[bounds.furthest] - work)), 1e-300)
        share = np.clip((work[y] - work[x]) / limit, 0, 1) * (SHARE_KNOTS - 1)
        place = y / self.bins * (self.knots - 1)
        inner = (y < self.bins).astype(np.float64)
        pair = (x * (self.cells - 1) // self.bins) * self.cells + y * (self.cells - 1) // self.bins
        first_share = 1 + self.knots
        cut, cut_part = _knot(place, self.knots)
        work_knot, work_part = _knot(share, SHARE_KNOTS)
        columns = [np.zeros_like(cut), 1 + cut, 2 + cut, first_share + work_knot, first_share + work_knot + 1]
        columns.append(first_share + SHARE_KNOTS + pair)
        amounts = [np.ones_like(share), inner * (1 - cut_part), inner * cut_part, 1 - work_part, work_part]
        amounts.append(np.full_like(share, PAIR_SCALE))
        return np.stack(columns, axis=1).astype(np.int64), np.stack(amounts, axis=1)

    def fit(self, offset: LongArray, cuts: IntArray, costs: FloatArray, bounds: Reach, load: Load) -> FloatArray:
        """The coefficients whose sums over the intervals of each partition come nearest to its cost, damped."""
        x, y, row = _intervals(offset, cuts, self.bins)
        columns, amounts = self.describe(x, y, bounds, load)
        rows = np.repeat(row, columns.shape[1])
        matrix = csr_matrix((amounts.ravel(), (rows, columns.ravel())), shape=(len(costs), self.count))
        mean, spread = float(costs.mean()), float(costs.std())
        constant = np.zeros(self.count)
        per_row = len(x) / len(costs)
        constant[0] = mean / per_row
        if spread <= 1e-12 * max(1.0, abs(mean)):
            return constant
        left = (costs - matrix @ constant) / spread
        solution = lsmr(matrix, left, damp=DAMPING, maxiter=200, atol=1e-8, btol=1e-8)[0]
        return np.asarray(constant + solution * spread)


def _knot(place: FloatArray, knots: int) -> tuple[LongArray, FloatArray]:
    lower = np.minimum(place.astype(np.int64), knots - 2)
    return lower, place - lower


def _intervals(offset: LongArray, cuts: IntArray, bins: int) -> tuple[LongArray, LongArray, LongArray]:
    """The (start, end, partition) of every interval of every partition."""
    counts = np.diff(offset) + 1
    row = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    ends = np.cumsum(counts) - 1
    y = np.full(len(row), bins, np.int64)
    inside = np.ones(len(row), bool)
    inside[ends] = False
    y[inside] = cuts
    x = np.zeros(len(row), np.int64)
    starts = ends - counts + 1
    follows = np.ones(len(row), bool)
    follows[starts] = False
    x[follows] = cuts
    return x, y, row
