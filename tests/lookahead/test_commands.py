"""``whimbrel mtm``: the fields of the contract, the exit codes, and a back-test that switches look-ahead off."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.lookahead.conftest import small_instance
from tests.lookahead.plain_projection import value_iteration

from whimbrel.cli import app as command_line
from whimbrel.model import Assignment
from whimbrel.planning import plan
from whimbrel.planning.mtm_backtest import compare, migrations
from whimbrel.planning.projection_store import read_stamp, write_stamp


def outcome(capsys, *words):
    code = 0
    try:
        command_line.main([str(word) for word in words])
    except SystemExit as left:
        code = int(left.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answer_of(capsys, *words):
    code, out, err = outcome(capsys, *words, "--json")
    assert code == 0, err
    assert out.count("\n") == 1
    return json.loads(out)


@pytest.fixture
def asked(tmp_path):
    value = {
        "work": [3, 1, 4, 1, 5, 2, 6, 5],
        "state": [10, 20, 5, 30, 10, 15, 25, 10],
        "tau": 0.5,
        "states": [2, 3, 4],
        "matrix": [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.9, 0.1, 0]],
        "gamma": 0.8,
    }
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(value))
    return path, value


def test_estimate_prints_what_the_contract_names(capsys, tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("hour,nodes\n" + "".join(f"{i},{n}\n" for i, n in enumerate([8, 10, 10, 8, 12, 16])))
    answer = answer_of(capsys, "mtm", "estimate", "--nodes", path)
    assert answer["states"] == [8, 10, 12, 16]
    assert answer["counts"] == [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert answer["matrix"][0] == [0, 0.5, 0.5, 0]
    assert answer["empty_rows"] == [16]
    assert [sum(row) for row in answer["matrix"]] == pytest.approx([1] * 4)


def test_estimate_maps_load_to_slots_by_a_rule(capsys, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("hour,count\n0,0\n1,100\n2,40\n3,0\n")
    answer = answer_of(capsys, "mtm", "estimate", "--counts", path, "--states", "1,2,4")
    assert answer["thresholds"] == pytest.approx([100 / 3, 200 / 3])
    assert answer["counts"] == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_project_writes_the_costs_of_plain_value_iteration(capsys, tmp_path, asked):
    path, value = asked
    answer = answer_of(capsys, "mtm", "project", "--instance", path, "--out", tmp_path / "out")
    rows = pq.read_table(tmp_path / "out").to_pylist()
    load = plan_load(value)
    expected = value_iteration(load, "0.5", (2, 3, 4), value["matrix"], 0.8)
    found = {(row["slots"], tuple(row["boundaries"])): row["cost"] for row in rows}
    assert found == pytest.approx(expected, abs=1e-9)
    assert answer["partitions"] == {str(n): sum(slots == n for slots, _ in found) for n in (2, 3, 4)}
    assert answer["residual"] <= 1e-9
    assert answer["iterations"] >= 1
    assert {"seconds", "pairs_evaluated", "pairs_pruned", "error_bound"} <= answer.keys()


def plan_load(value):
    from whimbrel.model import Load

    return Load(tuple(value["work"]), tuple(value["state"]))


def test_plan_with_the_projection_names_the_projected_cost(capsys, tmp_path, asked):
    path, value = asked
    answer_of(capsys, "mtm", "project", "--instance", path, "--out", tmp_path / "out")
    question = tmp_path / "question.json"
    question.write_text(
        json.dumps({**{k: value[k] for k in ("work", "state", "tau")}, "assignment": [0] * 4 + [1] * 4, "slots": 3})
    )
    words = ("plan", "--instance", question, "--planner", "mtm", "--projected", tmp_path / "out")
    answer = answer_of(capsys, *words)
    costs = {
        tuple(row["boundaries"]): row["cost"]
        for row in pq.read_table(tmp_path / "out").to_pylist()
        if row["slots"] == 3
    }
    cuts = sorted(lower for lower, upper in answer["intervals"] if lower and upper > lower)
    assert answer["projected_cost"] == pytest.approx(costs[tuple(cuts)])
    value["state"][0] += 1
    question.write_text(
        json.dumps({**{k: value[k] for k in ("work", "state", "tau")}, "assignment": [0] * 4 + [1] * 4, "slots": 3})
    )
    code, _, err = outcome(capsys, *words)
    assert (code, err.count("\n")) == (2, 1)
    assert "stale" in err


def test_progress_goes_to_standard_error_with_the_pairs_and_the_time_left(capsys, tmp_path, asked):
    _, out, err = outcome(capsys, "mtm", "project", "--instance", asked[0], "--out", tmp_path / "out", "--json")
    assert json.loads(out)
    assert "pairs evaluated" in err
    assert "pruned" in err
    assert "left" in err


def test_too_many_partitions_are_refused_with_their_count(capsys, tmp_path, asked):
    code, out, err = outcome(
        capsys, "mtm", "project", "--instance", asked[0], "--out", tmp_path / "out", "--most", 3, "--json"
    )
    assert (code, out) == (2, "")
    assert "partitions are feasible, more than 3" in err


def test_an_instance_without_a_feasible_partition_is_an_answer(capsys, tmp_path, asked):
    path, value = asked
    path.write_text(json.dumps({**value, "tau": 0, "work": [30, 1, 1, 1, 1, 1, 1, 1]}))
    code, out, _ = outcome(capsys, "mtm", "project", "--instance", path, "--out", tmp_path / "out", "--json")
    assert code == 3
    assert json.loads(out)["feasible"] is False


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 1}, "gamma is 1.0"),
        ({"matrix": [[1, 0, 0], [0, 1, 0], [0.4, 0.4, 0]]}, "matrix row of 4 slots sums to 0.8"),
        ({"matrix": [[1]]}, "3 rows and columns"),
        ({"states": [3, 2, 4]}, "must ascend"),
        ({"tau": "much"}, "tau of"),
        ({"work": [1]}, "work has 1 entries"),
        ({"states": None}, "list of slot counts"),
        ({"states": [2, 3, 10**9]}, "a slot count is at most"),
        ({"state": [1e308] * 8}, "use a larger unit"),
    ],
)
def test_a_faulty_instance_is_one_clear_line(capsys, tmp_path, asked, change, message):
    path, value = asked
    path.write_text(json.dumps({**value, **change}))
    code, out, err = outcome(capsys, "mtm", "project", "--instance", path, "--out", tmp_path / "out", "--json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_additive_projections_plan_as_well(capsys, tmp_path, asked):
    path, value = asked
    words = ("mtm", "project", "--instance", path, "--out", tmp_path / "out", "--method", "additive")
    answer = answer_of(capsys, *words, "--rounds", 5, "--samples", 20)
    assert answer["method"] == "additive"
    found = plan("mtm", plan_load(value), Assignment((0,) * 4 + (1,) * 4), 3, 0.5, projected=tmp_path / "out")
    assert found.feasible
    assert found.max_load <= found.limit
    assert "additive" in found.reason


def test_a_back_test_reports_and_switches_off_what_does_not_pay(capsys, tmp_path, instance, folder):
    import shutil

    here = tmp_path / "projection"
    shutil.copytree(folder, here)
    random, at, slots = np.random.default_rng(1), 0, []
    for _ in range(200):
        at = int(random.choice(3, p=np.array(instance.matrix)[at]))
        slots.append(instance.states[at])
    history = tmp_path / "nodes.csv"
    history.write_text("nodes\n" + "".join(f"{n}\n" for n in slots))
    answer = answer_of(capsys, "mtm", "backtest", "--projected", here, "--nodes", history)
    assert answer["migrations"] == 199
    assert answer["saved"] == pytest.approx(1 - answer["ahead"] / answer["single"])
    assert read_stamp(here).enabled == answer["pays"]
    write_stamp(here, replace(read_stamp(here), enabled=False))
    off = plan("mtm", instance.load, Assignment.even(24, 4), 5, "0.3", projected=here)
    assert off.cost == plan("ssm", instance.load, Assignment.even(24, 4), 5, "0.3").cost
    assert "off" in off.reason


def test_a_saving_within_chance_does_not_pay():
    random = np.random.default_rng(0)
    single = random.normal(10, 3, 100)
    assert compare(single, single - 1 + random.normal(0, 1, 100)).pays
    assert not compare(single, single + 0.2).pays
    assert not compare(single, single + random.normal(0.0, 3, 100) - random.normal(0.0, 3, 100) + 0.3).pays
    assert not compare([5, 5, 5], [1, 1, 1]).pays


def test_migrations_skip_repeats_and_unknown_slot_counts():
    assert migrations([4, 4, 9, 4, 5, 5, 6], [4, 5, 6]) == (4, 5, 6)
    assert small_instance().states == (4, 5, 6)
