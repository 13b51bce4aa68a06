"""A matrix counted on Spark is the matrix counted in one process."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from whimbrel.model import BadInput
from whimbrel.planning.mtm_matrix import estimate
from whimbrel.planning.mtm_slots import fit_rule


@pytest.fixture(scope="module")
def hours():
    rng = np.random.default_rng(8)
    counts = np.maximum(0, 20 + 15 * np.sin(np.arange(72) / 24 * 2 * np.pi) + rng.normal(0, 6, 72)).astype(int)
    counts[[10, 11, 40]] = 0
    counts[[0, -1]] = 5
    return counts.tolist()


@pytest.fixture(scope="module")
def log(spark, hours):
    start = datetime(2024, 3, 1)
    events = [
        (start + timedelta(hours=hour, seconds=int(second)), "x")
        for hour, count in enumerate(hours)
        for second in np.linspace(0, 3599, count)
    ]
    return spark.createDataFrame(events, "at timestamp, what string").repartition(3)


@pytest.mark.parametrize("self_moves", [False, True])
def test_a_log_on_spark_gives_the_matrix_of_its_hours(log, hours, self_moves):
    from whimbrel.runtime.precompute_log import estimate_on_log, events_per_interval, fit_rule_on_log

    intervals = events_per_interval(log, "at", 3600)
    assert [row["events"] for row in intervals.orderBy("place").collect()] == hours
    rule = fit_rule_on_log(intervals, (2, 4, 6), "percentile")
    assert estimate_on_log(intervals, rule, self_moves) == estimate(rule.slots_for(hours), self_moves, (2, 4, 6))


def test_a_log_without_the_column_is_refused(log):
    from whimbrel.runtime.precompute_log import events_per_interval

    with pytest.raises(BadInput, match="no column 'time'"):
        events_per_interval(log, "time", 3600)


def test_the_command_counts_a_log_of_events(log, hours, tmp_path, capsys, monkeypatch):
    import json
    from contextlib import contextmanager

    from whimbrel.cli import app as command_line
    from whimbrel.runtime import precompute_session

    @contextmanager
    def session_of_the_tests(cores):
        # It stands in for one of the command's own: a process has only one.
        yield log.sparkSession

    monkeypatch.setattr(precompute_session, "projection_session", session_of_the_tests)
    path = tmp_path / "events"
    log.write.parquet(str(path))
    words = ["mtm", "estimate", "--log", str(path), "--column", "at", "--states", "2,4,6", "--json"]
    with pytest.raises(SystemExit) as left:
        command_line.main(words)
    found = json.loads(capsys.readouterr().out)
    assert not left.value.code
    expected = estimate(fit_rule(hours, (2, 4, 6)).slots_for(hours), states=(2, 4, 6))
    assert found["counts"] == [list(row) for row in expected.counts]
    for column, lesson in (("when", "no column 'when'"), ("what", "no event has a readable time")):
        with pytest.raises(SystemExit) as left:
            command_line.main([*words, "--column", column])
        assert left.value.code == 2 and lesson in capsys.readouterr().err
