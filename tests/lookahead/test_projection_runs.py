"""Projections that are killed, resumed, damaged, or made by Spark: always the same costs."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.lookahead.conftest import small_instance

from whimbrel.planning.projection_exact import SWEEP, load_sweep, project_exact
from whimbrel.planning.projection_iteration import iterate, solve_here, start
from whimbrel.planning.projection_problem import Problem


class KilledError(Exception):
    pass


def test_a_killed_run_goes_on_from_its_last_sweep_and_ends_the_same(tmp_path, instance, folder):
    problem = Problem.of(instance)

    def kill(progress):
        if progress.sweeps == 3:
            raise KilledError

    with pytest.raises(KilledError):
        project_exact(problem, tmp_path, after_sweep=kill)
    assert not (tmp_path / "_instance.json").exists()
    seen = []
    project_exact(problem, tmp_path, after_sweep=lambda progress: seen.append(progress.sweeps))
    assert seen[0] == 4
    assert pq.read_table(tmp_path).equals(pq.read_table(folder))
    assert not (tmp_path / SWEEP).exists()


@pytest.mark.parametrize("harm", [b"", b"PK\x03\x04 nonsense", None])
def test_a_damaged_checkpoint_means_a_fresh_start(tmp_path, instance, folder, harm):
    problem = Problem.of(instance)
    project_half(problem, tmp_path)
    path = tmp_path / SWEEP
    path.write_bytes(path.read_bytes()[:-200] if harm is None else harm)
    assert load_sweep(tmp_path, problem) is None
    project_exact(problem, tmp_path)
    assert pq.read_table(tmp_path).equals(pq.read_table(folder))


def test_the_checkpoint_of_another_instance_is_ignored(tmp_path, instance):
    project_half(Problem.of(instance), tmp_path)
    assert load_sweep(tmp_path, Problem.of(instance)).sweeps == 2
    assert load_sweep(tmp_path, Problem.of(small_instance(gamma=0.5))) is None


def project_half(problem, folder):
    def kill(progress):
        if progress.sweeps == 2:
            raise KilledError

    with pytest.raises(KilledError):
        project_exact(problem, folder, after_sweep=kill)


def test_the_printed_bound_holds_for_every_cost(instance):
    problem = Problem.of(instance)
    exact = iterate(problem, solve_here, start(problem), lambda progress: None, tolerance=1e-13).costs
    for tolerance in (0.5, 0.1, 0.01, 1e-4):
        rough = iterate(problem, solve_here, start(problem), lambda progress: None, tolerance=tolerance)
        assert rough.bound <= tolerance * problem.total_state
        assert np.abs(rough.costs - exact).max() <= rough.bound


def test_most_pairs_are_pruned(instance):
    problem = Problem.of(instance)
    end = iterate(problem, solve_here, start(problem), lambda progress: None)
    assert end.evaluated + end.pruned == end.sweeps * problem.pairs
    assert end.evaluated < 0.05 * end.pruned


def test_spark_projects_the_same_costs_as_one_process(spark, tmp_path, instance, folder):
    from whimbrel.runtime.precompute import project_on_spark

    project_on_spark(spark, Problem.of(instance), tmp_path)
    here, there = pq.read_table(folder), pq.read_table(tmp_path)
    assert there.select(["slots", "boundaries"]).equals(here.select(["slots", "boundaries"]))
    assert there["cost"].to_numpy() == pytest.approx(here["cost"].to_numpy(), abs=1e-9 * sum(instance.load.state))
    assert there.schema.metadata == here.schema.metadata
