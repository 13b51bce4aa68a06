"""The bench of a query: throughput before anything moves, then a migration in the same run, and a checked answer."""

from __future__ import annotations

import pytest

from whimbrel.bench.nexmark import Settings, measure_all, run
from whimbrel.bench.nexmark_timelines import run as timelines
from whimbrel.model import BadInput


def test_the_epochs_that_are_staged_are_those_that_warm_up_are_measured_and_see_the_migration():
    assert Settings(epochs=10, moving=7).staged_epochs == 20
    assert Settings(epochs=10, moving=7).epochs_of("native-hdfs") == 13


def test_what_is_not_installed_is_said_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr("whimbrel.bench.needed.find_spec", lambda module: None)
    monkeypatch.setattr("whimbrel.bench.nexmark.bench_session", None)
    with pytest.raises(BadInput, match=r"needs duckdb: install whimbrel\[bench\]"):
        run({"query": "q3"})
    monkeypatch.setattr("whimbrel.bench.nexmark_timelines.bench_session", None)
    with pytest.raises(BadInput, match="duckdb and hdrhistogram"):
        timelines({"query": "q3"})


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whimbrels_record_has_epochs_before_during_and_after_its_migration(spark, tmp_path):
    settings = Settings(events=4_000, epochs=2, moving=6, bins=16, window="1 second", slide="500 milliseconds")
    record, native = measure_all(spark, ["q5"], ["whimbrel", "native-hdfs"], settings, tmp_path, {})
    assert native["correct"] and native["epoch_ms"]["during"]["max"] == 0
    assert record["correct"] and record["epochs"] == native["epochs"] == 2 and record["rows_per_second"] > 0
    assert all(record["epoch_ms"][phase]["max"] > 0 for phase in ("before", "during", "after"))
