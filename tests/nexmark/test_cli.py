"""The commands of the nexmark group: their answers and their refusals. Running a query is tested with Spark."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from whimbrel.cli.app import load_commands
from whimbrel.cli.nexmark import _parse_rescale
from whimbrel.model import BadInput


def invoke(*arguments):
    return CliRunner().invoke(load_commands(), ["nexmark", *arguments])


def test_generate_prints_one_json_object_and_writes_three_folders(tmp_path):
    found = invoke("generate", "--events", "500", "--out", str(tmp_path), "--format", "parquet", "--json")
    assert found.exit_code == 0
    answer = json.loads(found.stdout)
    assert (answer["person"], answer["auction"], answer["bid"]) == (10, 30, 460)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["auction", "bid", "person"]


@pytest.mark.parametrize(
    ("arguments", "lesson"),
    [
        (["run", "q77", "--events", ".", "--out", "o"], "no query 'q77'"),
        (["run", "q5", "--events", "nowhere", "--out", "o"], "no such file"),
        (["run", "q5", "--events", ".", "--out", "o", "--window", "soon"], "no duration"),
        (["run", "q5", "--events", ".", "--out", "o", "--window", "1 second", "--slide", "2 seconds"], "exceeds"),
        (["run", "q5", "--events", ".", "--out", "o", "--rescale", "3"], "EPOCH:SLOTS"),
        (["run", "q5", "--events", ".", "--out", "o", "--pacing", "slow"], "no pacing"),
        (["run", "q5", "--events", ".", "--out", "o", "--slots", "0"], "at least one slot"),
        (["run", "q5", "--events", ".", "--out", "o", "--slots", "4", "--bins", "2"], "4 slots for 2 bins"),
        (["run", "q5", "--events", ".", "--out", "o", "--rescale", "1:400"], "400 slots for 256 bins"),
        (["run", "q5", "--events", ".", "--out", "o", "--rescale", "7:4", "--epochs", "5"], "epoch 7 never comes"),
        (["run", "q5", "--events", ".", "--out", "o", "--epochs", "0"], "at least one"),
        (["run", "q5", "--events", ".", "--out", "o", "--window", "0 seconds"], "too short"),
        (["run", "q5", "--events", ".", "--out", "o", "--window", "20000 days"], "10,000 days"),
        (["run", "q5", "--events", ".", "--out", "o", "--delay", "9000 weeks"], "130 years"),
        (["run", "q5", "--events", ".", "--out", "o", "--p99", "quick"], "no duration"),
        (["check", "q10"], "no query 'q10'"),
        (["check", "q5", "--pacing", "slow"], "no pacing"),
        (["check", "q5", "--from", "nowhere"], "no such file"),
        (["check", "q5", "--from", ".", "--events", "10"], "--events is for events that are generated"),
        (["check", "q5", "--events", "0"], "at least 1"),
        (["generate", "--events", "5", "--out", "x", "--rate", "0"], "at least 1"),
        (["generate", "--events", "5", "--out", "x", "--out-of-order", "953"], "no multiple of 953"),
        (["generate", "--events", "5", "--out", "x", "--format", "csv"], "jsonl or parquet"),
    ],
)
def test_bad_input_is_one_clear_line(arguments, lesson, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = invoke(*arguments)
    assert isinstance(found.exception, BadInput)
    assert lesson in str(found.exception)


def test_bad_input_is_said_before_spark_starts(tmp_path, monkeypatch):
    monkeypatch.setattr("whimbrel.cli.spark_session.quiet_session", None)
    (tmp_path / "e.jsonl").write_text('{"bid": {"auction": 1}}\n{"bid": {"price": "5"}}\n')
    found = invoke("run", "q1", "--events", str(tmp_path), "--out", str(tmp_path / "new"))
    assert isinstance(found.exception, BadInput) and "line 2: price is '5'" in str(found.exception)
    found = invoke("run", "q1", "--events", str(tmp_path), "--out", str(tmp_path))
    assert isinstance(found.exception, BadInput) and "not empty" in str(found.exception)


def test_rescales_are_read_as_pairs():
    assert _parse_rescale(" 3:4, 6:3") == {3: 4, 6: 3}
    assert _parse_rescale("") == {}
    with pytest.raises(BadInput, match="twice"):
        _parse_rescale("3:4,3:5")


def test_the_lines_of_code_are_printed_for_programs_and_for_people():
    rows = json.loads(invoke("lines", "--json").stdout)["queries"]
    assert [row["query"] for row in rows][:3] == ["q0", "q1", "q2"]
    assert "migratable" in invoke("lines").stdout
