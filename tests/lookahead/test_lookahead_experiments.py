"""The look-ahead experiments run small: every planner is there, hindsight is a bound, gamma 0 is the single step."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.lookahead.plain_projection import all_partitions, step_cost

from whimbrel.experiments.lookahead_settings import chains, matrix_of, slot_history
from whimbrel.experiments.lookahead_walks import hindsight
from whimbrel.planning.projection_problem import Problem


def test_hindsight_is_the_shortest_path_through_all_partitions(instance):
    problem = Problem.of(instance)
    chain = (4, 5, 4, 6, 5)
    load, begin = instance.load, (6, 12, 18)
    reached = {begin: 0.0}
    spaces = {slots: all_partitions(load, slots, instance.tau) for slots in (4, 5, 6)}
    for slots in chain[1:]:
        reached = {
            cuts: min(cost + step_cost(load, old, cuts) for old, cost in reached.items()) for cuts in spaces[slots]
        }
    found = hindsight(problem, lambda slots: np.array(begin, np.int32), [chain])
    assert found.moved[0] * problem.total_state * (len(chain) - 1) == pytest.approx(min(reached.values()))


def test_chains_never_repeat_a_slot_count_and_start_with_the_fewest():
    matrix = matrix_of(slot_history(None)[0])
    for chain in chains(matrix, (8, 10, 12, 14, 16), 5, 30):
        assert len(chain) == 31
        assert all(a != b for a, b in zip(chain, chain[1:]))


@pytest.mark.slow
def test_a_small_run_of_the_chains_has_every_planner(tmp_path):
    from whimbrel.experiments.lookahead_chains import run

    answer = run(None, tmp_path, taus=("0.2",), gammas=(0.0, 0.8), count=3, length=15, hindsight_chains=1)
    rows = [row for row in answer["rows"] if row["load"] == "zipf"]
    assert {row["planner"] for row in rows} >= {"ssm", "mtm-exact", "mtm-additive", "mtm-backtested", "hindsight"}
    assert all(abs(row["saved_percent"]) < 1e-9 for row in rows if row["gamma"] == 0.0)
    assert pq.read_table(tmp_path / "lookahead-chains.parquet").num_rows == len(answer["rows"])


@pytest.mark.slow
def test_a_small_run_under_drift_keeps_to_its_claims_format(tmp_path):
    from whimbrel.experiments.lookahead_drift import run

    answer = run(None, tmp_path, sigmas=(0.15,), count=4, length=10)
    assert {"id", "claim", "holds", "figures", "rows"} <= answer.keys()
    assert all(0 <= row["stored_partitions_feasible"] <= 1 for row in answer["rows"])
