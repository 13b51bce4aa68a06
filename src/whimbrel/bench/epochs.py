"""A streaming query run for a number of epochs or seconds, and what its epochs say."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(slots=True)
class Measured:
    """The committed epochs of one run, in order: id, end (monotonic seconds, from Spark's clock), length, rows."""

    epochs: list[int] = field(default_factory=list)
    started_ms: list[float] = field(default_factory=list)
    duration_ms: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)

    def after(self, warm_up: int) -> Measured:
        """Without the first epochs, in which Spark and numba compile."""
        return Measured(
            self.epochs[warm_up:], self.started_ms[warm_up:], self.duration_ms[warm_up:], self.rows[warm_up:]
        )

    @property
    def rows_per_second(self) -> float:
        """Rows over the time that epochs took."""
        total_ms = sum(self.duration_ms)
        return 1000.0 * sum(self.rows) / total_ms if total_ms else 0.0

    def between(self, first: int, last: int) -> list[float]:
        """The lengths of the epochs first..last, both included."""
        return [d for e, d in zip(self.epochs, self.duration_ms, strict=True) if first <= e <= last]

    def longest_silence_ms(self) -> float:
        """The longest time from one committed epoch to the next."""
        ends = [s + d for s, d in zip(self.started_ms, self.duration_ms, strict=True)]
        return float(max(np.diff(ends))) if len(ends) > 1 else 0.0


def percentiles(durations_ms: list[float]) -> dict[str, float]:
    """p50, p99 and max of epoch lengths; zeros where there are none."""
    if not durations_ms:
        return {"p50": 0.0, "p99": 0.0, "max": 0.0}
    found = np.percentile(durations_ms, [50, 99, 100])
    return {"p50": float(found[0]), "p99": float(found[1]), "max": float(found[2])}


class Follower:
    """Follows a running query; what it raises, the follower raises."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self.measured = Measured()

    @property
    def newest(self) -> int:
        """The newest committed epoch, -1 before the first."""
        return self.measured.epochs[-1] if self.measured.epochs else -1

    def epochs(self, count: int, seconds: float = 0.0) -> int:
        """Wait until ``count`` more epochs are committed and ``seconds`` have passed; returns the newest epoch."""
        wanted = len(self.measured.epochs) + count
        deadline = time.monotonic() + seconds
        self.until(lambda: len(self.measured.epochs) >= wanted and time.monotonic() >= deadline)
        return self.newest

    def until(self, reached: Callable[[], bool], timeout_seconds: float = 1800.0) -> None:
        """Wait for a condition; TimeoutError after a long while."""
        deadline = time.monotonic() + timeout_seconds
        self.look()
        while not reached():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the query is at epoch {self.newest} and what was waited for has not come")
            time.sleep(0.05)
            self.look()

    def look(self) -> None:
        """Take up what Spark has reported since."""
        failure = self._query.exception()
        if failure is not None:
            raise failure
        for progress in self._query.recentProgress:
            lengths = progress["durationMs"]
            if int(progress["batchId"]) > self.newest and "addBatch" in lengths:
                self.measured.epochs.append(int(progress["batchId"]))
                self.measured.started_ms.append(_instant_ms(progress["timestamp"]))
                self.measured.duration_ms.append(float(lengths["triggerExecution"]))
                self.measured.rows.append(int(progress["numInputRows"]))

    def stop(self) -> Measured:
        """Stop the query and return all that was measured."""
        self._query.stop()
        self.look()
        return self.measured


def run_epochs(query: StreamingQuery, epochs: int, seconds: float = 0.0) -> Measured:
    """Let the query run until it has committed ``epochs`` epochs and ``seconds`` have passed, then stop it."""
    follower = Follower(query)
    try:
        follower.epochs(epochs, seconds)
    finally:
        query.stop()
    return follower.stop()


def _instant_ms(text: Any) -> float:
    from datetime import datetime

    return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp() * 1000.0
