"""Processors that both systems run, or that stand for an operator that Spark does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from whimbrel.bench.counting_processor import Counting

HOUR_MS = 3_600_000


class Alarming(StatefulProcessor):
    """A timer per key, a second after its newest row: of event time, or of processing time."""

    def __init__(self, event_time: bool) -> None:
        self._event_time = event_time

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._count = handle.getValueState("n", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Count, and set the alarm."""
        total = (self._count.get()[0] if self._count.exists() else 0) + sum(len(frame) for frame in rows)
        self._count.update((total,))
        times = timerValues
        now = times.getCurrentWatermarkInMs() if self._event_time else times.getCurrentProcessingTimeInMs()
        self._handle.registerTimer(now + 1000)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Ring."""
        yield pd.DataFrame({"key": [key[0]], "n": [self._count.get()[0]]})

    def close(self) -> None:
        """Nothing to close."""


class Expiring(Counting):
    """A count that is forgotten an hour after its key's last row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._count = handle.getValueState("n", "n long", ttlDurationMs=HOUR_MS)


class Meeting(StatefulProcessor):
    """Counts the rows of two sides per key: even values are the left one's, odd ones the right one's."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._counts = handle.getValueState("met", "l long, r long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Count."""
        left, right = self._counts.get() or (0, 0)
        for frame in rows:
            odd = int((frame["v"] % 2).sum())
            left, right = left + len(frame) - odd, right + odd
        self._counts.update((left, right))
        yield pd.DataFrame({"key": [key[0]], "l": [left], "r": [right]})

    def close(self) -> None:
        """Nothing to close."""


class Enriching(StatefulProcessor):
    """Rows whose value is a multiple of 100 are the table's; the others meet the newest of them."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._value = handle.getValueState("w", "w long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Table rows first, as Whimbrel's enrich does."""
        frame = pd.concat(list(rows))
        news, facts = frame[frame["v"] % 100 == 0], frame[frame["v"] % 100 != 0]
        if len(news):
            self._value.update((int(news["v"].iloc[-1]),))
        held = self._value.get()
        yield pd.DataFrame({"key": key[0], "v": facts["v"], "w": held[0] if held else None})

    def close(self) -> None:
        """Nothing to close."""
