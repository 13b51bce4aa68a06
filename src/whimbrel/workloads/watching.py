"""Follows a running query epoch by epoch, as Spark reports them, without missing or repeating one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from whimbrel.model.errors import OperatorFailed

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class EpochSeen:
    """A committed epoch: its number, when it began (seconds since the epoch of the clock), its length, its rows."""

    number: int
    began_seconds: float
    duration_ms: float
    rows: int

    @staticmethod
    def of(progress: Mapping[str, Any]) -> EpochSeen:
        """What one entry of ``query.recentProgress`` says."""
        began = datetime.fromisoformat(str(progress["timestamp"]).replace("Z", "+00:00")).timestamp()
        duration_ms = float(progress["durationMs"].get("triggerExecution", 0))
        return EpochSeen(int(progress["batchId"]), began, duration_ms, int(progress["numInputRows"]))


def follow(query: Any, *, pause: Callable[[float], None] = time.sleep) -> Iterator[EpochSeen]:
    """Committed epochs as they come, each once, in order, until the query stops.

    Raises OperatorFailed with Spark's first line where the query failed. Spark keeps the last hundred reports: read
    on at least once in a hundred epochs.
    """
    last = -1
    while True:
        running = query.isActive
        for seen in map(EpochSeen.of, query.recentProgress):
            if seen.number > last and seen.duration_ms > 0:
                last = seen.number
                yield seen
        if not running:
            break
        pause(POLL_SECONDS)
    if (failure := query.exception()) is not None:
        raise OperatorFailed(f"the query stopped after epoch {last}: {str(failure).splitlines()[0]}")
