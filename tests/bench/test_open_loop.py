"""Latency is counted from the time an event was due, whatever the system did meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from whimbrel.bench.open_loop import Committed, committed_epochs, histogram, latencies_ms, timeline
from whimbrel.model import BadInput


def due_every_10_ms(numbers):
    return 1_000 + numbers * 10


def test_an_event_waits_for_the_epoch_that_takes_it():
    epochs = [Committed(2, 1_100.0), Committed(3, 1_150.0), Committed(5, 1_300.0)]
    assert latencies_ms(epochs, due_every_10_ms).tolist() == [100, 90, 130, 270, 260]
    assert latencies_ms(epochs, due_every_10_ms, first=3).tolist() == [270, 260]


def test_a_stall_is_charged_to_every_event_that_was_due_in_it():
    steady = [Committed(10 * k, 1_000.0 + 100 * k) for k in range(1, 11)]
    stalled = [*steady[:5], Committed(100, 2_000.0)]
    assert latencies_ms(steady, due_every_10_ms).max() == 100
    assert np.sum(latencies_ms(stalled, due_every_10_ms) > 100) == 40


def test_epochs_out_of_order_are_refused():
    with pytest.raises(BadInput, match="out of order"):
        latencies_ms([Committed(5, 1.0), Committed(3, 2.0)], due_every_10_ms)


def test_the_histogram_keeps_three_digits():
    found = histogram(np.arange(1, 10_001))
    assert found["p50"] == pytest.approx(5_000, rel=1e-3)
    assert found["p99"] == pytest.approx(9_900, rel=1e-3)
    assert found["max"] == pytest.approx(10_000, rel=1e-3)
    assert found["events"] == 10_000


def test_the_timeline_has_a_point_per_quarter_second_that_had_events():
    due = np.array([0, 100, 249, 250, 900])
    points = timeline(np.array([1, 2, 3, 40, 5]), due)
    assert [point["at_ms"] for point in points] == [0, 250, 750]
    assert [point["max"] for point in points] == [3, 40, 5]


def test_progress_reports_without_new_events_are_passed_over():
    def report(events, at, length):
        sources = [{"endOffset": f'{{"events": {events}, "started_us": 1}}'}, {"endOffset": {"beats": 3}}]
        return {"sources": sources, "timestamp": at, "durationMs": {"triggerExecution": length}}

    reports = [report(10, "1970-01-01T00:00:01.000Z", 500), report(10, "1970-01-01T00:00:02.000Z", 9)]
    reports.append(report(30, "1970-01-01T00:00:03.000Z", 250))
    assert committed_epochs(reports) == [Committed(10, 1_500.0), Committed(30, 3_250.0)]
