"""Exact projected costs against plain value iteration, pair costs against a matching solver, counts against lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.lookahead.plain_projection import all_partitions, step_cost, value_iteration

from whimbrel.model import BadInput, Load
from whimbrel.planning.projection_count import Census, census, partitions, partitions_by_intervals, refuse_if_too_many
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_iteration import iterate, solve_here, start
from whimbrel.planning.projection_overlap import kept
from whimbrel.planning.projection_problem import Problem
from whimbrel.planning.projection_reach import reach
from whimbrel.planning.projection_space import list_partitions


def random_instance(seed: int, bins_most: int = 12) -> ProjectionInstance:
    rng = np.random.default_rng(seed)
    bins = int(rng.integers(4, bins_most + 1))
    work = tuple(int(v) for v in rng.integers(0, 9, bins))
    state = tuple(float(v) for v in rng.integers(0, 50, bins) / 4)
    states = tuple(sorted(int(v) for v in rng.choice(np.arange(1, 7), 3, replace=False)))
    matrix = rng.dirichlet(np.ones(3), 3)
    if seed % 2:
        np.fill_diagonal(matrix, 0)
        matrix /= matrix.sum(axis=1, keepdims=True)
    gamma = float(rng.choice([0.0, 0.5, 0.8, 0.95]))
    tau = str(rng.choice(["0.2", "0.5", "0.9"]))
    return ProjectionInstance(Load(work, state), tau, states, tuple(map(tuple, matrix.tolist())), gamma)


def projected(instance: ProjectionInstance) -> dict[tuple[int, tuple[int, ...]], float]:
    problem = Problem.of(instance)
    end = iterate(problem, solve_here, start(problem), lambda progress: None, tolerance=1e-12)
    return {
        (space.slots, space.boundaries(rank)): float(problem.costs_of(end.costs, j)[rank])
        for j, space in enumerate(problem.spaces)
        for rank in range(space.size)
    }


@pytest.mark.parametrize("seed", range(40))
def test_exact_projection_equals_plain_value_iteration(seed):
    instance = random_instance(seed)
    expected = value_iteration(instance.load, instance.tau, instance.states, instance.matrix, instance.gamma)
    found = projected(instance)
    assert found.keys() == expected.keys()
    worst = max((abs(found[key] - expected[key]) for key in expected), default=0)
    assert worst <= 1e-9 * max(1.0, sum(instance.load.state)), f"seed {seed}: off by {worst}"


@pytest.mark.parametrize("seed", range(60))
def test_partitions_are_listed_in_order_and_counted_without_listing(seed):
    instance = random_instance(seed)
    for slots in instance.states:
        expected = all_partitions(instance.load, slots, instance.tau)
        bounds = reach(instance.load, slots, instance.tau)
        space = list_partitions(bounds)
        assert [space.boundaries(rank) for rank in range(space.size)] == expected
        assert partitions(bounds) == len(expected)
        assert [space.find(cuts) for cuts in expected] == list(range(len(expected)))
        assert bounds.feasible == bool(expected)


def test_a_partition_over_the_limit_is_not_found():
    space = list_partitions(reach(Load((1,) * 6, (1,) * 6), 3, "0"))
    assert space.find((2, 4)) == 0
    assert space.find((3, 4)) is None


@pytest.mark.parametrize("seed", range(200))
def test_the_cost_of_a_pair_is_the_total_less_the_best_matching(seed):
    rng = np.random.default_rng(seed)
    bins = int(rng.integers(1, 20))
    state = rng.integers(0, 9, bins)
    load = Load((1,) * bins, tuple(int(v) for v in state))
    old, new = (
        tuple(sorted(int(v) for v in rng.choice(np.arange(1, bins), int(rng.integers(0, bins)), replace=False)))
        if bins > 1
        else ()
        for _ in range(2)
    )
    prefix = np.concatenate([[0.0], np.cumsum(state)])
    found = kept(np.array(old, np.int32), np.array(new, np.int32), prefix)
    assert sum(load.state) - found == step_cost(load, old, new)


def test_the_papers_scale_has_as_many_partitions_as_independent_combinatorics_say():
    load = Load((1,) * 64, (1,) * 64)
    by_intervals = {n: partitions_by_intervals(reach(load, n, "0.2")) for n in (8, 10, 12, 14, 16)}
    assert sum(counts[-1] for counts in by_intervals.values()) == 113_023
    assert sum(sum(counts) for counts in by_intervals.values()) == 113_102


def test_too_many_partitions_are_refused_with_their_exact_number_and_a_time():
    states = tuple(range(8, 17))
    row = tuple(1 / 9 for _ in states)
    instance = ProjectionInstance(Load((1,) * 64, (1,) * 64), "1.2", states, (row,) * 9, 0.8)
    found = census(instance)
    with pytest.raises(BadInput, match=r"18,115,684,990,358 partitions .* years"):
        refuse_if_too_many(found)


def test_no_feasible_partition_at_all_is_refused():
    with pytest.raises(BadInput, match="raise tau"):
        refuse_if_too_many(Census({4: 0}))


def test_an_infeasible_slot_count_is_left_out_and_the_rest_is_exact():
    load = Load((6, 1, 1, 1, 1, 1, 1), (3, 1, 4, 1, 5, 9, 2))
    matrix = ((0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
    instance = ProjectionInstance(load, "0.1", (1, 2, 6), matrix, 0.8)
    expected = value_iteration(load, "0.1", (1, 2, 6), matrix, 0.8)
    found = projected(instance)
    assert {slots for slots, _ in found} == {1, 2}
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9, 0.99, 0.999])
def test_every_gamma_converges_in_few_sweeps(gamma):
    instance = replace(random_instance(2), gamma=gamma)
    problem = Problem.of(instance)
    end = iterate(problem, solve_here, start(problem), lambda progress: None)
    assert end.sweeps < 40
    assert end.bound <= 1e-8 * problem.total_state
