"""``whimbrel place`` and ``whimbrel mice generate`` from outside: fields, exit codes, one clear line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from whimbrel.cli.app import load_commands, main
from whimbrel.placement import ALGORITHMS

FIELDS = {"server", "cost", "replication_factor", "lower_bound", "random_cost", "max_load", "limit", "seconds"}


def run(*arguments):
    return CliRunner().invoke(load_commands(), [str(a) for a in arguments])


def exit_code(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(a) for a in arguments])
    return stopped.value.code


@pytest.fixture()
def instance(tmp_path):
    path = tmp_path / "mice.json"
    made = run(
        "mice", "generate", "--queries", 300, "--servers", 5, "--beta", 2, "--degree", 2, "--seed", 3, "--out", path
    )
    assert made.exit_code == 0
    return path


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "single-source"])
def test_every_algorithm_answers_with_the_fields_of_the_contract(instance, algorithm):
    asked = run("place", "--instance", instance, "--algorithm", algorithm, "--json", "--solver", "own")
    assert asked.exit_code == 0
    answer = json.loads(asked.stdout)
    assert FIELDS <= set(answer)
    assert len(answer["server"]) == 300
    assert answer["lower_bound"] <= answer["cost"]
    assert answer["max_load"] <= answer["limit"]
    queries = json.loads(instance.read_text())["queries"]
    assert answer["random_cost"] > answer["lower_bound"]
    assert answer["cost"] == len({(s, j) for row, j in zip(queries, answer["server"]) for s in row})


def test_single_source_needs_queries_of_one_source(tmp_path, instance, capsys):
    assert exit_code("place", "--instance", instance, "--algorithm", "single-source", "--json") == 2
    assert "read one each" in capsys.readouterr().err
    path = tmp_path / "single.json"
    run("mice", "generate", "--queries", 50, "--servers", 3, "--degree", 1, "--out", path)
    assert run("place", "--instance", path, "--algorithm", "single-source", "--json").exit_code == 0


def test_too_little_room_is_exit_3_with_the_reason(tmp_path):
    path = tmp_path / "full.json"
    path.write_text(json.dumps({"rates": [1], "queries": [[0]] * 3, "servers": 2, "nu": 0, "alpha": 0}))
    asked = run("place", "--instance", path, "--algorithm", "mms", "--json")
    assert asked.exit_code == 3
    answer = json.loads(asked.stdout)
    assert answer["feasible"] is False
    assert answer["smallest_nu"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"queries": [[0, 9]]}, "source 9"),
        ({"queries": [[0, 0]]}, "twice"),
        ({"queries": [[]]}, "no source"),
        ({"queries": [["a"]]}, "whole numbers"),
        ({"queries": 3}, "queries"),
        ({"rates": [-1, 1]}, "rates"),
        ({"rates": ["x", 1]}, "rates"),
        ({"servers": 0}, "servers"),
        ({"servers": 1.5}, "servers"),
        ({"servers": 10**9}, "servers"),
        ({"rates": [1e308, 1e308]}, "too large"),
        ({"rates": [1, 10**400]}, "rates[1]"),
        ({"rates": [float("nan"), 1]}, "rates"),
        ({"nu": -1}, "nu"),
        ({"nu": "much"}, "nu"),
        ({"alpha": -1}, "alpha"),
        ({"work": [0, 1]}, "work"),
        ({"work": [1]}, "work"),
        ({"capacities": [1]}, "capacities"),
    ],
)
def test_a_faulty_instance_is_exit_2_and_one_line_that_names_the_fault(tmp_path, capsys, change, word):
    path = tmp_path / "faulty.json"
    good = {"rates": [1, 1], "queries": [[0, 1], [1]], "servers": 2, "nu": 0.05, "alpha": 10}
    path.write_text(json.dumps({**good, **change}))
    assert exit_code("place", "--instance", path, "--algorithm", "ic", "--json") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert word in printed.err
    assert len(printed.err.strip().splitlines()) == 1


def test_an_unknown_algorithm_is_refused_with_the_names_of_all(instance, capsys):
    assert exit_code("place", "--instance", instance, "--algorithm", "magic") == 2
    assert "least-cost" in capsys.readouterr().err


def test_an_instance_without_queries_has_nothing_to_place(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({"rates": [1], "queries": [], "servers": 2}))
    answer = json.loads(run("place", "--instance", path, "--algorithm", "ic", "--json").stdout)
    assert answer["server"] == []
    assert answer["cost"] == 0


def test_the_table_says_how_far_the_cost_may_be_from_the_least(instance):
    asked = run("place", "--instance", instance, "--algorithm", "ic")
    assert asked.exit_code == 0
    assert "at most over the least possible" in asked.stdout


def test_a_packing_that_was_not_found_is_exit_3_and_not_called_impossible(tmp_path):
    path = tmp_path / "heavy.json"
    path.write_text(json.dumps({"rates": [1], "queries": [[0]] * 3, "servers": 2, "nu": 0, "work": [2, 2, 2]}))
    asked = run("place", "--instance", path, "--algorithm", "ic", "--json")
    assert asked.exit_code == 3
    answer = json.loads(asked.stdout)
    assert answer["feasible"] is None
    assert answer["proved"] is False


@pytest.mark.parametrize("picture", ["no/such/folder.svg", "loads.movie", "."])
def test_a_plot_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path, capsys, picture):
    pytest.importorskip("matplotlib")
    there_is_none = tmp_path / "none.json"
    assert exit_code("place", "--instance", there_is_none, "--algorithm", "ic", "--plot", tmp_path / picture) == 2
    assert "--plot" in capsys.readouterr().err


def test_a_plot_is_written(instance, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "loads.svg"
    assert run("place", "--instance", instance, "--algorithm", "ic", "--plot", picture).exit_code == 0
    assert "<svg" in picture.read_text()
