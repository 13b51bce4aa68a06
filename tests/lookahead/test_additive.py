"""The additive form: its program is the single step at weight zero, and it comes near the exact costs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.lookahead.plain_projection import all_partitions, step_cost

from whimbrel.model import Load
from whimbrel.planning.mtm_choice import AdditiveChoice
from whimbrel.planning.projection_additive import Horizon, additive_of, bellman, fit_additive
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_iteration import iterate, solve_here, start
from whimbrel.planning.projection_problem import Problem
from whimbrel.planning.projection_program import Program, best_partition
from whimbrel.planning.projection_reach import reach


@pytest.mark.parametrize("seed", range(40))
def test_the_program_finds_the_best_of_all_partitions_for_any_weights(seed):
    rng = np.random.default_rng(seed)
    bins = int(rng.integers(3, 11))
    load = Load(tuple(int(v) for v in rng.integers(1, 9, bins)), tuple(int(v) for v in rng.integers(0, 30, bins)))
    slots = int(rng.integers(2, 5))
    bounds = reach(load, slots, "0.6")
    if not bounds.feasible:
        assert all_partitions(load, slots, "0.6") == []
        return
    weights = rng.normal(0, 10, (bins, bounds.widest)) * (seed % 3)
    old = tuple(x for x in range(1, bins) if rng.random() < 0.4)
    prefix = np.concatenate([[0.0], np.cumsum(load.state)])

    def value(cuts):
        edges = (0, *cuts, bins)
        return step_cost(load, old, cuts) + sum(weights[a, b - a - 1] for a, b in zip(edges, edges[1:]))

    found = best_partition(Program.of(bounds, weights), np.array(old, np.int32), prefix)
    assert value(tuple(found.tolist())) == pytest.approx(min(map(value, all_partitions(load, slots, "0.6"))))


def explained(problem, costs, estimate):
    exact = np.concatenate([problem.costs_of(costs, j) - problem.costs_of(costs, j).mean() for j in range(3)])
    left = np.concatenate([e - e.mean() for e in estimate]) - exact
    return 1 - left.var() / exact.var()


def sums(problem, additive):
    horizon = Horizon.of(problem.instance)
    for j, space in enumerate(problem.spaces):
        weights = additive.weights(horizon, j)
        edges = [(0, *space.boundaries(rank), space.bounds.bins) for rank in range(space.size)]
        yield np.array([sum(weights[a, b - a - 1] for a, b in zip(cuts, cuts[1:])) for cuts in edges])


def test_exact_costs_are_nearly_additive_and_fitted_values_come_near_after_one_bellman_step(instance):
    problem = Problem.of(instance)
    costs = iterate(problem, solve_here, start(problem), lambda progress: None).costs
    condensed = additive_of(problem, costs)
    fitted = fit_additive(instance, np.random.default_rng(0), samples=150, rounds=25)
    assert explained(problem, costs, list(sums(problem, condensed))) > 0.8
    horizon = Horizon.of(instance)
    future = fitted.future(horizon)
    ahead = [bellman(horizon, future, j, space.offset, space.cuts) for j, space in enumerate(problem.spaces)]
    # The planner compares candidates after this step; the bare sum explains far less, about a third here.
    assert explained(problem, costs, ahead) > 0.7


def test_hundreds_of_bins_and_dozens_of_slots_are_projected_and_planned_within_the_limit():
    rng = np.random.default_rng(5)
    load = Load(tuple(int(v) for v in rng.integers(50, 150, 512)), tuple(int(v) for v in rng.integers(10, 99, 512)))
    states = (24, 32, 40)
    matrix = ((0.0, 1.0, 0.0), (0.5, 0.0, 0.5), (0.0, 1.0, 0.0))
    instance = ProjectionInstance(load, "0.2", states, matrix, 0.8)
    costs = fit_additive(instance, np.random.default_rng(1), samples=8, rounds=3)
    horizon = Horizon.of(instance)
    choice = AdditiveChoice(horizon, costs)
    cuts: tuple[int, ...] = ()
    for slots in (24, 32, 40, 32):
        cuts = choice.choose(cuts, slots, horizon.prefix, cuts_of_single(horizon, slots, cuts)).cuts
        edges = (0, *cuts, 512)
        loads = [sum(load.work[a:b]) for a, b in zip(edges, edges[1:])]
        assert len(loads) <= slots
        assert max(loads) * slots <= 1.2 * sum(load.work) + 1e-6


def cuts_of_single(horizon, slots, cuts):
    bounds = horizon.bounds[horizon.states.index(slots)]
    blind = Program.of(bounds, np.zeros((bounds.bins, bounds.widest)))
    return tuple(best_partition(blind, np.array(cuts, np.int32), horizon.prefix).tolist())
