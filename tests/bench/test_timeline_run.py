"""Latency is charged to the migration that caused it, wherever the event was when it began."""

from __future__ import annotations

import pytest

from whimbrel.bench.timeline_run import Change, records


def reports(commits_ms, events_per_ms=1):
    """One report per epoch: what was due when the epoch before was committed is taken."""
    found, taken = [], 0
    for previous, commit in zip([0, *commits_ms], commits_ms, strict=False):
        taken = max(previous * events_per_ms, taken)
        offset = {"events": taken, "started_us": 0}
        instant = f"1970-01-01T00:00:{previous / 1000:06.3f}Z"
        found.append(
            {
                "sources": [{"endOffset": offset}],
                "timestamp": instant,
                "durationMs": {"triggerExecution": commit - previous},
            }
        )
    return found


def due_ms(numbers, started_ms):
    return (started_ms + numbers).astype("int64")


def test_an_event_that_queued_behind_a_slow_epoch_belongs_to_the_migration():
    commits = [1000, 2000, 3000, 4000, 9000, 10000, 11000, 12000]
    change = Change("all-at-once", 0.0, 4000.0, 9000.0, 12000.0, {"steps": 1})
    (record,) = records(reports(commits), [change], due_ms, preload=0)
    assert record["latency_ms"]["before"]["max"] == pytest.approx(2000, rel=0.01)
    assert record["latency_ms"]["during"]["max"] == pytest.approx(6000, rel=0.01)
    assert record["times_steady"] == pytest.approx(3, rel=0.01)
    assert record["latency_ms"]["after"]["max"] <= 2001
    assert record["migration_s"] == 5 and record["steps"] == 1


def test_no_ratio_is_given_where_a_phase_has_no_event():
    commits = [1000 * n for n in range(1, 13)]
    change = Change("batched", 4000.0, 4000.0, 8000.0, 12000.0, {})
    (record,) = records(reports(commits), [change], due_ms, preload=0)
    assert record["times_steady"] is None and record["latency_ms"]["before"]["events"] == 0


def test_nothing_shows_where_no_epoch_is_longer():
    commits = [1000 * n for n in range(1, 13)]
    change = Change("batched", 0.0, 4000.0, 8000.0, 12000.0, {})
    (record,) = records(reports(commits), [change], due_ms, preload=0)
    assert record["times_steady"] == pytest.approx(1, rel=0.01)
    assert [point["at_ms"] for point in record["timeline"]][:3] == [0, 250, 500]
