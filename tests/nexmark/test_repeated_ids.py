"""Ids that are not unique are found where a query meets its rows by them, and only there."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest
from tests.nexmark.scenarios import foreign, write_foreign
from typer.testing import CliRunner

from whimbrel.cli.app import load_commands
from whimbrel.nexmark.arrivals import read_events
from whimbrel.nexmark.repeated_ids import MET_BY_ID, doubt, repeated_ids

TWICE = [{"person": {"id": 1}}, {"person": {"id": 1}}, {"person": {"id": 1}}, {"person": {}}, {"person": {}}]
TWICE += [{"auction": {"id": 1}}, {"auction": {"id": 2}}, {"bid": {"auction": 1}}, {"bid": {"auction": 1}}]


def events(tmp_path, rows):
    (tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return read_events(tmp_path)


def test_each_repeated_id_counts_once_and_nulls_are_no_ids(tmp_path):
    rows = events(tmp_path, TWICE)
    found = {query: repeated_ids(query, rows) for query in (*MET_BY_ID, "q5", "q19")}
    assert found == {"q3": 1, "q8": 1, "q4": 0, "q6": 0, "q9": 0, "q20": 0, "q5": 0, "q19": 0}


def test_unique_ids_and_no_events_at_all_are_not_doubted(tmp_path):
    rows = read_events(write_foreign(tmp_path, foreign(300, seed=1)))
    assert not any(repeated_ids(query, rows) for query in MET_BY_ID)
    assert not any(repeated_ids(query, rows.slice(0, 0)) for query in MET_BY_ID)


def test_the_doubt_is_one_line_that_says_what_follows():
    assert (
        doubt("q8", 3)
        == "q8: 3 ids are shared by several people; which of them counts is not defined, and references may differ"
    )
    assert "each pair is joined" in doubt("q20", 1)


def test_a_run_says_on_standard_error_and_in_its_answer_that_ids_are_repeated(tmp_path, monkeypatch):
    answer = {"query": "q3", "rows_in": 9, "rows_out": 0, "epochs": 1, "moves": 0, "seconds": 1.0, "repeated_ids": 1}
    monkeypatch.setattr("whimbrel.nexmark.running.run", lambda *arguments: answer)
    monkeypatch.setattr("whimbrel.cli.spark_session.quiet_session", nullcontext)
    events(tmp_path, TWICE)
    words = ["nexmark", "run", "q3", "--events", str(tmp_path), "--out", str(tmp_path / "out"), "--json"]
    found = CliRunner().invoke(load_commands(), words)
    assert json.loads(found.stdout)["repeated_ids"] == 1
    assert "1 ids are shared by several people" in found.stderr


@pytest.mark.slow
def test_a_run_counts_them(spark, tmp_path):
    from whimbrel.nexmark.running import Run, run

    answer = run(spark, Run("q3", bins=4, slots=1, epochs=1), events(tmp_path, TWICE), tmp_path / "out")
    assert answer["repeated_ids"] == 1
