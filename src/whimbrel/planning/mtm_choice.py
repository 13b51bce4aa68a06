"""Where to go next: the partition with the least (cost of the step + discounted cost of what follows).

Two ways to know what follows. ``ExactChoice`` has the cost of every partition and searches them by branch and bound.
``AdditiveChoice`` has a sum over intervals, tries it at several strengths, and keeps the candidate that one more exact
step of Bellman's equation likes best. The single-step target is a candidate of both and wins every tie, so neither
answers worse than it by its own measure, and with nothing to gain ahead both walk the very path of the single step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whimbrel.planning.projection_additive import AdditiveCosts, Horizon, bellman
from whimbrel.planning.projection_overlap import kept
from whimbrel.planning.projection_problem import Problem
from whimbrel.planning.projection_program import Program, best_partition
from whimbrel.planning.projection_reach import IntArray
from whimbrel.planning.projection_search import Target, minimise_block
from whimbrel.planning.projection_space import FloatArray

TIE = 1e-13
"""Two ways to sum the same costs differ by less, as a share of them."""

STRENGTHS = (0.25, 0.5, 0.75, 1.0)
"""Shares of the additive costs that look-ahead tries beside none, which is the single step."""


@dataclass(frozen=True)
class Choice:
    """Interior cuts of the next partition, and the projected cost of being there."""

    cuts: tuple[int, ...]
    projected_cost: float


class ExactChoice:
    """Chooses among all listed partitions of a slot count by their exact projected costs."""

    def __init__(self, problem: Problem, costs: FloatArray, gamma: float) -> None:
        self._problem = problem
        self._costs = costs
        self._discounted = gamma * costs
        self._targets: dict[int, Target] = {}

    def choose(self, old: Sequence[int], slots: int, prefix: FloatArray, single: Sequence[int] = ()) -> Choice:
        """The best partition for ``slots`` slots, coming from the cuts ``old``; the slot count must be feasible.

        ``prefix`` are the prefix sums of the state that a slot can keep; ``single`` is where a single-step planner
        would go, and is evaluated first.
        """
        j = self._problem.instance.states.index(slots)
        space = self._problem.spaces[j]
        values, chosen = np.empty(1), np.empty(1, np.int32)
        first = space.find(tuple(single))
        warm = np.array([-1 if first is None else first], np.int32)
        cuts = np.asarray(old, np.int32)
        minimise_block(self._target(j), np.array([0, len(cuts)]), cuts, prefix, warm, values, chosen)
        rank = (
            int(chosen[0])
            if first is None
            else self._preferred(first, int(chosen[0]), float(values[0]), cuts, prefix, j)
        )
        return Choice(space.boundaries(rank), float(self._problem.costs_of(self._costs, j)[rank]))

    def _preferred(self, first: int, best: int, least: float, old: IntArray, prefix: FloatArray, j: int) -> int:
        """The single step's rank where it is as good as the best one, as far as sums of doubles can tell."""
        space = self._problem.spaces[j]
        there = space.cuts[space.offset[first] : space.offset[first + 1]]
        value = float(prefix[-1] - kept(old, there, prefix) + self._problem.costs_of(self._discounted, j)[first])
        return first if value <= least + TIE * (abs(least) + float(prefix[-1])) else best

    def _target(self, j: int) -> Target:
        if j not in self._targets:
            weights = self._problem.weights_of(self._discounted, j)
            self._targets[j] = self._problem.target(self._discounted, weights, j)
        return self._targets[j]


@dataclass(frozen=True)
class AdditiveChoice:
    """Chooses among all partitions, listed or not, by additive costs; works under any load."""

    horizon: Horizon
    costs: AdditiveCosts

    @cached_property
    def _future(self) -> dict[int, FloatArray]:
        return self.costs.future(self.horizon)

    def choose(self, old: Sequence[int], slots: int, prefix: FloatArray, single: Sequence[int] = ()) -> Choice:
        """The best candidate for ``slots`` slots, coming from the cuts ``old``; the slot count must be feasible."""
        j = self.horizon.states.index(slots)
        cuts = np.asarray(old, np.int32)
        bounds = self.horizon.bounds[j]
        candidates = {tuple(int(x) for x in single): None}
        for strength in STRENGTHS if self.horizon.gamma > 0 else ():
            program = Program.of(bounds, strength * self._future[j])
            candidates[tuple(best_partition(program, cuts, prefix).tolist())] = None
        offset = np.concatenate([[0], np.cumsum([len(found) for found in candidates])]).astype(np.int64)
        packed = np.array([x for found in candidates for x in found], np.int32)
        ahead = bellman(self.horizon, self._future, j, offset, packed)
        now = [prefix[-1] - kept(cuts, np.asarray(found, np.int32), prefix) for found in candidates]
        best = int(np.argmin(np.asarray(now) + self.horizon.gamma * ahead))
        return Choice(list(candidates)[best], float(ahead[best]))
