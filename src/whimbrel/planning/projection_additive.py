"""Projected costs as a sum over intervals: for instances whose partitions cannot be listed.

``C[n, P]`` is taken to be the sum of ``weight_n(x, y)`` over the intervals [x, y) of P. Such a sum goes into the
single-step program as it is, so the best of all partitions is still found in polynomial time. The coefficients come
from fitted value iteration: Bellman's equation is answered exactly for a pool of partitions that look-ahead itself
visits, and the sums are fitted to the answers. What this costs in accuracy is measured where exact costs exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from whimbrel.model import Load
from whimbrel.planning.projection_features import Features
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_problem import Problem, feasible_matrix
from whimbrel.planning.projection_program import Program, best_partition, least_values
from whimbrel.planning.projection_reach import IntArray, Reach, reach
from whimbrel.planning.projection_space import FloatArray, LongArray

NOISES = (0.0, 0.02, 0.1)
"""Perturbations of the weights, in shares of the mean state per slot, that spread the pool around good partitions."""

FITTED_MOST = 8_000
"""Partitions per slot count, evenly spread over the ranks, from which exact costs are condensed."""


@dataclass(frozen=True)
class Horizon:
    """An instance under one load: the reach of each slot count, and the chances of what comes next."""

    load: Load
    states: tuple[int, ...]
    bounds: tuple[Reach, ...]
    matrix: FloatArray
    gamma: float
    prefix: FloatArray

    @staticmethod
    def of(instance: ProjectionInstance, load: Load | None = None) -> Horizon:
        """The horizon of an instance, under another load where one is given."""
        now = instance.load if load is None else load
        bounds = tuple(reach(now, slots, instance.tau) for slots in instance.states)
        feasible = np.array([found.feasible for found in bounds])
        matrix = feasible_matrix(np.asarray(instance.matrix, np.float64), feasible)
        prefix = np.concatenate([[0.0], np.cumsum(np.asarray(now.state, np.float64))])
        return Horizon(now, instance.states, bounds, matrix, instance.gamma, prefix)


@dataclass(frozen=True)
class AdditiveCosts:
    """``coefficients[j]`` of the features of ``states[j]``, in the unit of state at ``total_state``."""

    features: Features
    states: tuple[int, ...]
    coefficients: FloatArray
    total_state: float

    def weights(self, horizon: Horizon, state: int) -> FloatArray:
        """The weight of every interval of one slot count under the horizon's load; in the unit of its state."""
        scale = float(horizon.prefix[-1]) / self.total_state if self.total_state > 0 else 0.0
        return scale * self.features.weights(self.coefficients[state], horizon.bounds[state], horizon.load)

    def future(self, horizon: Horizon) -> dict[int, FloatArray]:
        """The discounted weights of every feasible slot count."""
        feasible = (j for j, bounds in enumerate(horizon.bounds) if bounds.feasible)
        return {j: horizon.gamma * self.weights(horizon, j) for j in feasible}


def additive_of(problem: Problem, costs: FloatArray) -> AdditiveCosts:
    """The additive form nearest to exact costs: what a stored projection falls back on when the load drifts."""
    features = Features(problem.instance.load.bins)
    fitted = np.zeros((len(problem.spaces), features.count))
    for j, space in enumerate(problem.spaces):
        some = np.arange(0, space.size, max(1, space.size // FITTED_MOST))
        if len(some):
            offset, cuts = _packed([space.cuts[space.offset[r] : space.offset[r + 1]] for r in some])
            exact = problem.costs_of(costs, j)[some]
            fitted[j] = features.fit(offset, cuts, exact, space.bounds, problem.instance.load)
    return AdditiveCosts(features, problem.instance.states, fitted, problem.total_state)


def fit_additive(
    instance: ProjectionInstance,
    random: np.random.Generator,
    samples: int = 300,
    rounds: int = 30,
    report: Callable[[int, float], None] = lambda done, change: None,
) -> AdditiveCosts:
    """Fitted value iteration with ``samples`` partitions per slot count, drawn anew in every round.

    ``report`` is told the round and how far its answers moved, as a share of the total state. Slot counts without a
    feasible partition keep coefficients of zero and are never visited.
    """
    horizon = Horizon.of(instance)
    features = Features(instance.load.bins)
    nothing = np.zeros((len(instance.states), features.count))
    costs = AdditiveCosts(features, instance.states, nothing, float(horizon.prefix[-1]))
    before = 0.0
    for done in range(rounds):
        future = costs.future(horizon)
        pools = _walk(horizon, future, samples, random)
        fitted = nothing.copy()
        answers = []
        for i, (offset, cuts) in pools.items():
            values = bellman(horizon, future, i, offset, cuts)
            fitted[i] = features.fit(offset, cuts, values, horizon.bounds[i], horizon.load)
            answers.append(values.mean())
        costs = replace(costs, coefficients=fitted)
        level = float(np.mean(answers)) if answers else 0.0
        report(done + 1, abs(level - before) / max(costs.total_state, 1e-300))
        before = level
    return costs


def bellman(
    horizon: Horizon, future: Mapping[int, FloatArray], state: int, offset: LongArray, cuts: IntArray
) -> FloatArray:
    """Bellman's right-hand side for partitions of one slot count, exact for these discounted weights."""
    values = np.zeros(len(offset) - 1)
    answer = np.empty_like(values)
    for k in np.flatnonzero(horizon.matrix[state] > 0):
        least_values(Program.of(horizon.bounds[k], future[int(k)]), offset, cuts, horizon.prefix, answer)
        values += horizon.matrix[state, k] * answer
    return values


def _walk(
    horizon: Horizon, future: Mapping[int, FloatArray], samples: int, random: np.random.Generator
) -> dict[int, tuple[LongArray, IntArray]]:
    """Partitions that a look-ahead of varying strength visits, ``samples`` of each feasible slot count or so."""
    feasible = list(future)
    found: dict[int, list[IntArray]] = {i: [] for i in feasible}
    old = np.zeros(0, np.int32)
    for step in range(samples * len(feasible)):
        i = feasible[int(random.integers(len(feasible))) if step >= len(feasible) else step]
        share = float(random.choice([0.0, 0.5, 1.0, 1.0]))
        noise = float(random.choice(NOISES)) * horizon.prefix[-1] / horizon.states[i]
        drawn = share * future[i] + noise * random.standard_normal(future[i].shape)
        old = best_partition(Program.of(horizon.bounds[i], drawn), old, horizon.prefix)
        found[i].append(old)
    return {i: _packed(kept) for i, kept in found.items()}


def _packed(partitions: list[IntArray]) -> tuple[LongArray, IntArray]:
    offset = np.concatenate([[0], np.cumsum([len(cuts) for cuts in partitions])]).astype(np.int64)
    return offset, np.concatenate(partitions).astype(np.int32)
