"""``whimbrel mice simulate`` from outside: its figures, its time series, its picture, one clear line for a fault."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from whimbrel.cli.app import load_commands, main

SMALL = ("--steps", 3000, "--servers", 20, "--server-change", 100, "--failures", 0.5, "--seed", 4, "--samples", 30)


def run(*arguments):
    return CliRunner().invoke(load_commands(), ["mice", "simulate", *(str(a) for a in arguments)])


def refusal(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["mice", "simulate", *(str(a) for a in arguments)])
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_rules_are_compared_on_the_same_events_with_a_time_series_each():
    asked = run(*SMALL, "--rule", "least-cost", "--rule", "settling", "--json")
    assert asked.exit_code == 0
    answer = json.loads(asked.stdout)
    plain, settled = answer["results"]
    assert (plain["rule"], settled["rule"]) == ("least-cost", "settling")
    assert plain["live"] == settled["live"] and plain["servers"] == settled["servers"]
    assert settled["replication_factor"] < plain["replication_factor"]
    assert plain["settled"] == 0 < settled["settled"] <= answer["arrivals"]
    assert 0 < plain["restored"] < plain["forced"]
    series = answer["series"]["settling"]
    assert series["step"][-1] == 3000
    assert len(series["traffic"]) == len(series["imbalance"]) == len(series["step"]) >= 30
    assert min(series["imbalance"]) >= 1
    assert series["settled"] == sorted(series["settled"])


def test_a_seed_replays_the_course_and_the_table_names_what_it_shows():
    first, again = (json.loads(run(*SMALL, "--json").stdout)["series"] for _ in range(2))
    assert first == again
    shown = run(*SMALL)
    assert shown.exit_code == 0
    assert max(len(line) for line in shown.stdout.splitlines()) <= 82
    for word in ("least-cost", "factor", "fullest", "forced", "restored"):
        assert word in shown.stdout


def test_the_time_series_and_its_picture_are_written(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("matplotlib")
    table, picture = tmp_path / "course.parquet", tmp_path / "course.svg"
    rules = ("--rule", "on-rand", "--rule", "least-qt")
    assert run(*SMALL, *rules, "--out", table, "--plot", picture, "--json").exit_code == 0
    rows = parquet.read_table(table).to_pylist()
    assert {row["rule"] for row in rows} == {"on-rand", "least-qt"}
    assert all(row["replication_factor"] >= 1 for row in rows)
    assert "<svg" in picture.read_text()


def test_queries_that_live_forever_stay():
    answer = json.loads(run("--steps", 500, "--servers", 3, "--lifetime", "forever", "--json").stdout)
    assert answer["results"][0]["live"] == answer["arrivals"]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (("--rule", "magic"), "magic"),
        (("--lifetime", "long"), "--lifetime"),
        (("--lifetime", "nan"), "lifetime"),
        (("--lifetimes", "eternal"), "eternal"),
        (("--lifetimes", "pareto", "--pareto-shape", 1), "shape"),
        (("--arrivals", 0), "arrivals"),
        (("--arrivals", "nan"), "arrivals"),
        (("--arrivals", 1e9), "arrivals"),
        (("--server-change", 0), "server"),
        (("--failures", 1.5), "failures"),
        (("--servers", 0), "servers"),
        (("--beta", "nan"), "beta"),
        (("--degree", 0), "degree"),
        (("--nu", "much"), "nu"),
        (("--nu", "999999999.1234567", "--arrivals", 100), "too fine"),
    ],
)
def test_a_fault_is_exit_2_and_its_line_names_it(capsys, wrong, word):
    said = refusal(capsys, "--steps", 300, "--servers", 3, *wrong)
    assert word in said
    assert "Traceback" not in said


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_a_file_that_cannot_be_written_is_one_line_before_the_run(capsys, tmp_path, option):
    if option == "--plot":
        pytest.importorskip("matplotlib")
    said = refusal(capsys, *SMALL, option, tmp_path / "no" / "course.svg")
    assert "cannot be written" in said
    assert len(said.strip().splitlines()) == 1, "nothing was run"
