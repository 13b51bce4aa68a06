"""Projections that are killed, resumed, damaged, or made by Spark: always the same costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

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


PROJECT_UNTIL_KILLED = """
import json, os, signal, sys
from pathlib import Path
from whimbrel.planning.projection_exact import project_exact
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_problem import Problem

def kill(progress):
    if progress.sweeps == 3:
        os.kill(os.getpid(), signal.SIGKILL)

instance = ProjectionInstance.from_json(json.loads(Path(sys.argv[1]).read_text()))
project_exact(Problem.of(instance), Path(sys.argv[2]), after_sweep=kill)
"""


def test_the_command_goes_on_after_a_process_that_was_killed_with_signal_9(tmp_path, instance, folder):
    asked, out = tmp_path / "instance.json", tmp_path / "out"
    asked.write_text(json.dumps(instance.to_json()))
    killed = subprocess.run([sys.executable, "-c", PROJECT_UNTIL_KILLED, asked, out], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (out / "_instance.json").exists()
    command = "import sys; from whimbrel.cli.app import main; main(sys.argv[1:])"
    words = ["mtm", "project", "--instance", asked, "--out", out, "--json"]
    done = subprocess.run([sys.executable, "-c", command, *words], capture_output=True, text=True, check=True)
    assert "goes on after sweep 3" in done.stderr and "sweep 4:" in done.stderr and "sweep 1:" not in done.stderr
    assert json.loads(done.stdout)["iterations"] > 3
    assert pq.read_table(out)["cost"].equals(pq.read_table(folder)["cost"])


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

    swept = []
    project_on_spark(spark, Problem.of(instance), tmp_path, swept.append)
    assert [progress.sweeps for progress in swept] == list(range(1, len(swept) + 1))
    here, there = pq.read_table(folder), pq.read_table(tmp_path)
    assert there.select(["slots", "boundaries"]).equals(here.select(["slots", "boundaries"]))
    assert there["cost"].to_numpy() == pytest.approx(here["cost"].to_numpy(), abs=1e-9 * sum(instance.load.state))
    assert there.schema.metadata == here.schema.metadata
