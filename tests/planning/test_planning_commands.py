"""``plan``, ``plan-sequence``, ``balance`` and ``transfers`` as scripts see them: fields, exit codes, one-line errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whimbrel.cli.app import main

TABLE_3 = {"work": [1] * 20, "state": [1] * 20, "intervals": [[0, 13], [13, 20]], "slots": 3, "tau": 0.4}

PLAN_FIELDS = {
    "feasible", "planner", "cost", "gain", "lower_bound", "limit", "max_load", "assignment", "intervals", "moves",
    "hash_cost", "seconds",
}  # fmt: skip


def _write(folder: Path, instance: dict[str, Any]) -> str:
    path = folder / "instance.json"
    path.write_text(json.dumps(instance))
    return str(path)


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(stopped.value.code or 0), printed.out, printed.err


@pytest.mark.parametrize(
    "planner", ["ssm", "simple-ssm", "even", "consistent-hashing", "redist", "any-map", "scan", "hash"]
)
def test_plan_prints_one_object_with_every_field(
    planner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _run(capsys, "plan", "--instance", _write(tmp_path, TABLE_3), "--planner", planner, "--json")
    answer = json.loads(out)
    assert code == 0 and PLAN_FIELDS <= set(answer)
    assert len(answer["assignment"]) == 20 and answer["cost"] + answer["gain"] == 20
    assert answer["intervals"] is None or len(answer["intervals"]) == 3


def test_plan_gives_the_cheapest_answer_of_the_papers_instance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _run(capsys, "plan", "--instance", _write(tmp_path, TABLE_3), "--json")
    assert code == 0 and json.loads(out)["cost"] == 4


def test_empty_intervals_and_fewer_slots_keep_one_interval_per_old_slot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = {**TABLE_3, "intervals": [[0, 10], [10, 20], [20, 20], [20, 20]], "slots": 1, "tau": 0}
    code, out, _ = _run(capsys, "plan", "--instance", _write(tmp_path, instance), "--json")
    assert code == 0 and len(json.loads(out)["intervals"]) == 4


def test_an_infeasible_plan_exits_with_3_and_names_the_tau_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _write(tmp_path, {**TABLE_3, "slots": 7, "tau": 0})
    code, out, _ = _run(capsys, "plan", "--instance", path, "--json")
    answer = json.loads(out)
    assert code == 3 and not answer["feasible"] and answer["assignment"] is None
    assert _run(capsys, "plan", "--instance", path, "--tau", str(answer["smallest_tau"]))[0] == 0


def test_clipping_turns_a_heavy_bin_into_a_plan_that_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = {"work": [90, 5, 5], "state": [1, 1, 1], "assignment": [0, 0, 0], "slots": 2, "tau": 0.2}
    path = _write(tmp_path, instance)
    assert _run(capsys, "plan", "--instance", path)[0] == 3
    code, out, _ = _run(capsys, "plan", "--instance", path, "--clip")
    assert code == 0 and "counted as the limit" in out


def test_the_table_shows_before_after_cost_bound_balance_and_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _run(capsys, "plan", "--instance", _write(tmp_path, TABLE_3), "--plot", str(tmp_path / "plan.svg"))
    assert code == 0 and (tmp_path / "plan.svg").read_text().startswith("<?xml")
    for word in ("before", "after", "moves", "cost", "bound", "hash % N", "balance"):
        assert word in out


def test_a_sequence_is_planned_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = {**TABLE_3, "targets": [{"slots": 3, "tau": 0.4}, {"slots": 4, "tau": 0.4}]}
    code, out, _ = _run(capsys, "plan-sequence", "--instance", _write(tmp_path, instance), "--json")
    answer = json.loads(out)
    assert code == 0 and answer["feasible"] and answer["cost"] == 6 <= answer["greedy_cost"]
    assert [step["cost"] for step in answer["steps"]] == [4, 2] or sum(s["cost"] for s in answer["steps"]) == 6
    assert [len(step["intervals"]) for step in answer["steps"]] == [3, 4]


def test_an_infeasible_sequence_exits_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, {**TABLE_3, "targets": [{"slots": 7, "tau": 0.0}]})
    code, out, _ = _run(capsys, "plan-sequence", "--instance", path, "--json")
    assert code == 3 and json.loads(out)["feasible"] is False


def test_transfers_meet_their_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, {"bytes": [[0, 2, 1], [0, 0, 3], [1, 0, 0]]})
    code, out, _ = _run(capsys, "transfers", "--instance", path, "--json")
    answer = json.loads(out)
    assert code == 0 and answer["seconds"] == answer["lower_bound"] == 4
    assert {"seconds", "pairs"} <= set(answer["phases"][0])
    assert "total" in _run(capsys, "transfers", "--instance", path)[1]


def test_balance_lists_the_staircase_and_the_best_within_a_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _write(tmp_path, TABLE_3)
    points = json.loads(_run(capsys, "balance", "--instance", path, "--json")[1])["points"]
    assert [(point["max_load"], point["cost"]) for point in points] == [(7 + i, 6 - i) for i in range(7)]
    within = json.loads(_run(capsys, "balance", "--instance", path, "--within", "3.5", "--json")[1])["points"]
    assert within == [points[3]]


def test_capacities_show_each_slot_its_own_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, {**TABLE_3, "capacities": [1, 2, 1]})
    answer = json.loads(_run(capsys, "plan", "--instance", path, "--json")[1])
    assert answer["limits"] == [7, 14, 7] and answer["max_load"] <= 14
    assert "a limit of its own" in _run(capsys, "plan", "--instance", path)[1]


def test_balances_empty_the_slots_that_must_be_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, {**TABLE_3, "give_up": [1]})
    points = json.loads(_run(capsys, "balance", "--instance", path, "--json")[1])["points"]
    assert all(1 not in point["assignment"] for point in points) and points[-1]["cost"] == 7


@pytest.mark.parametrize(
    ("command", "field", "lesson"),
    [
        ("balance", "capacities", "slots of equal capacity"),
        ("plan-sequence", "capacities", "slots of equal capacity"),
        ("plan-sequence", "give_up", 'does not know "give_up"'),
    ],
)
def test_what_a_command_cannot_weigh_is_refused_rather_than_ignored(
    command: str, field: str, lesson: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = {**TABLE_3, "targets": [{"slots": 3, "tau": 0.4}], field: [1, 2, 1]}
    code, _, err = _run(capsys, command, "--instance", _write(tmp_path, instance))
    assert code == 2 and lesson in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "lesson"),
    [
        ({"bytes": [[0, 1]]}, "must be square"),
        ({"bytes": 3}, "list of rows"),
        ({"uplink": "fast"}, "uplink[0] is 'fast'"),
        ({"downlink": [1]}, "one speed per slot"),
    ],
)
def test_unusable_transfers_end_in_one_line_that_names_the_file(
    change: dict[str, Any], lesson: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _write(tmp_path, {"bytes": [[0, 1], [1, 0]], **change})
    code, out, err = _run(capsys, "transfers", "--instance", path, "--json")
    assert code == 2 and out == ""
    assert lesson in err and "instance.json" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "lesson"),
    [
        ({"work": [1] * 19}, "one of each per bin"),
        ({"work": "many"}, '"work" must be a list'),
        ({"work": [1] * 19 + [True]}, "work[19] is True"),
        ({"state": [1] * 19 + [-1]}, "zero or more"),
        ({"work": [1e308] * 20}, "work sums to more than a number can say"),
        ({"intervals": [[0, 13], [12, 20]]}, "must not overlap"),
        ({"intervals": [[0, 13], [14, 20]]}, "lies in no interval"),
        ({"intervals": [[0, 13.5]]}, "whole numbers"),
        ({"intervals": None}, "give the current assignment"),
        ({"intervals": None, "assignment": [0] * 3}, "one slot per bin"),
        ({"assignment": [0] * 20}, "say different things"),
        ({"slots": 2.5}, '"slots" must be a whole number'),
        ({"slots": None}, "pass --slots"),
        ({"tau": "much"}, '"tau" must be a number'),
    ],
)
def test_bad_instances_end_in_one_line_and_exit_code_2(
    change: dict[str, Any], lesson: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(capsys, "plan", "--instance", _write(tmp_path, {**TABLE_3, **change}), "--json")
    assert code == 2 and out == ""
    assert lesson in err and "instance.json" in err and len(err.splitlines()) == 1


def test_plan_needs_exactly_one_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(capsys, "plan")[0] == 2
    assert _run(capsys, "plan", str(tmp_path), "--instance", _write(tmp_path, TABLE_3))[0] == 2


def test_a_cold_plan_of_4096_bins_needs_no_compiler(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    instance = {
        "work": random.integers(1, 100, 4096).tolist(),
        "state": random.integers(1, 100, 4096).tolist(),
        "intervals": [[64 * slot, 64 * slot + 64] for slot in range(64)],
        "slots": 72,
        "tau": 0.2,
    }
    cache = tmp_path / "cache"
    command = [sys.executable, "-m", "whimbrel.cli.app", "plan", "--instance", _write(tmp_path, instance), "--json"]
    code = "import sys; from whimbrel.cli.app import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *command[3:]]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout)["feasible"]
    assert not list(cache.rglob("*.nbc")) if cache.exists() else True
