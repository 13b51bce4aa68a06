"""Latency of a NEXMark query before, during and after a migration, open loop, for each pacing (Megaphone's Figures 7-12).

As in the paper, half of the bins of half of the slots move to the others first, which leaves an imbalance; the
second migration, the one that is reported, restores the balance.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.bench.open_loop import committed_epochs, histogram, latencies_ms, timeline
from whimbrel.bench.session import bench_session
from whimbrel.model.assignment import Assignment
from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput, OperatorFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from whimbrel.nexmark.source import Plan as SourcePlan
    from whimbrel.runtime.job import Job

PACINGS = ("all-at-once", "batched", "optimized")
_LONGEST_S = 1800.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run: ``preload`` events fill the state, then ``rate`` events a second are due, come what may."""

    rate: int = 5_000
    preload: int = 1_000_000
    seconds: float = 30.0
    slots: int = 4
    bins: int = 256
    size: int = 16
    event_rate: int = 10_000
    window: str = "10 seconds"
    slide: str = "5 seconds"


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """One record per pacing in ``pacings``: latency histograms of the three phases, and the timeline."""
    from whimbrel.nexmark.queries import MIGRATABLE

    query = str(options.get("query", ""))
    if query not in MIGRATABLE:
        raise BadInput(f"there is no query {query!r}: use one of {', '.join(MIGRATABLE)}")
    settings = Settings(**{k: v for k, v in options.items() if k in Settings.__dataclass_fields__ and v is not None})
    wanted = list(options.get("pacings") or PACINGS)
    with bench_session() as spark:
        results = [_in_a_folder(spark, query, pacing, settings) for pacing in wanted]
    plain = {name: getattr(settings, name) for name in Settings.__dataclass_fields__}
    return {"bench": f"timelines-{query}", "settings": plain, "results": results}


def _in_a_folder(spark: SparkSession, query: str, pacing: str, settings: Settings) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="whimbrel-bench-"))
    try:
        return _Timeline(spark, query, settings, folder).measure(pacing)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Timeline:
    def __init__(self, spark: SparkSession, query: str, settings: Settings, folder: Path) -> None:
        from whimbrel.nexmark.source import Plan as SourcePlan
        from whimbrel.nexmark.source import register

        register(spark)
        self._spark, self._query, self._settings, self._folder = spark, query, settings, folder
        self._options = {
            "rate": str(settings.rate),
            "preload": str(settings.preload),
            "eventRate": str(settings.event_rate),
        }
        self._source: SourcePlan = SourcePlan.of(self._options)

    def measure(self, pacing: str) -> dict[str, Any]:
        """Preload, steady, imbalance, steady, the migration, steady."""
        settings = self._settings
        ours, query = self._start()
        try:
            balanced = Assignment(tuple(b % settings.slots for b in range(settings.bins)))
            self._wait(query, lambda: self._taken(query) > settings.preload)
            self._move(ours, query, balanced, "all-at-once")
            self._move(ours, query, imbalanced(balanced, settings.slots), "all-at-once")
            began = time.time() * 1000
            self._wait(query, seconds=settings.seconds)
            moved = time.time() * 1000
            self._move(ours, query, balanced, pacing)
            settled = time.time() * 1000
            self._wait(query, seconds=settings.seconds)
        finally:
            query.stop()
        record = self._record(query, began, moved, settled)
        state_bytes = int(sum(ours.board.load(8).state))
        report = ours.audit()
        ours.close()
        return {"system": "whimbrel", "pacing": pacing, **record, "state_bytes": state_bytes, "correct": report.ok}

    def _start(self) -> tuple[Job, StreamingQuery]:
        from whimbrel.nexmark.queries import migratable_query
        from whimbrel.nexmark.settings import Settings as QuerySettings
        from whimbrel.nexmark.streams import Streams
        from whimbrel.runtime.job import job

        settings = self._settings
        ours = job(
            self._spark, self._query, max_slots=settings.slots, bins=settings.bins, directory=self._folder / "job"
        )
        events = self._spark.readStream.format("nexmark").options(**self._options).load()
        window = QuerySettings(window_ms=milliseconds(settings.window), slide_ms=milliseconds(settings.slide))
        result = migratable_query(self._query, ours, Streams.of(events), window)
        return ours, ours.writer(result).format("noop").start()

    def _move(self, ours: Job, query: StreamingQuery, target: Assignment, pacing: str) -> None:
        from whimbrel.migration import Pacing

        size = self._settings.size if pacing == "batched" else None
        ours.board.post_target(target, Pacing.of(pacing, size))
        self._wait(query, lambda: ours.status().settled)

    def _wait(self, query: StreamingQuery, reached: Any = None, seconds: float = 0.0) -> None:
        """Until a condition holds, or for so long."""
        begun = time.monotonic()
        while time.monotonic() - begun < (_LONGEST_S if reached else seconds):
            if reached is not None and reached():
                return
            failure = query.exception()
            if failure is not None:
                raise OperatorFailed(f"{self._query} stopped: {str(failure).splitlines()[0]}")
            time.sleep(0.1)
        if reached is not None:
            raise OperatorFailed(f"{self._query} did not get there within {_LONGEST_S:.0f} seconds: lower the rate")

    def _taken(self, query: StreamingQuery) -> int:
        return max((epoch.until for epoch in committed_epochs(query.recentProgress)), default=0)

    def _record(self, query: StreamingQuery, began: float, moved: float, settled: float) -> dict[str, Any]:
        epochs = committed_epochs(query.recentProgress)
        started_ms = _started_ms(query.recentProgress)
        numbers = np.arange(self._settings.preload, max(epochs[-1].until, self._settings.preload))
        due = (started_ms + self._source.due_us(numbers) / 1000).astype(np.int64)
        waited = latencies_ms(epochs, lambda _: due, first=self._settings.preload)
        phases = {"before": (began, moved), "during": (moved, settled), "after": (settled, np.inf)}
        latency = {name: histogram(waited[(due >= low) & (due < high)]) for name, (low, high) in phases.items()}
        chosen = due >= began
        points = timeline(waited[chosen], due[chosen])
        return {
            "latency_ms": latency,
            "migration_s": (settled - moved) / 1000,
            "moved_at_ms": moved - began,
            "timeline": points,
        }


def imbalanced(balanced: Assignment, slots: int) -> Assignment:
    """Every second bin of the first half of the slots, moved to the slot half the slots further on."""
    half = slots // 2
    owner = list(balanced.owner)
    for slot in range(half):
        for b in balanced.bins_of(slot)[::2]:
            owner[b] = slot + half
    return Assignment(tuple(owner))


def _started_ms(progress: Any) -> float:
    import json

    for report in progress:
        for source in report["sources"]:
            offset = source["endOffset"]
            found = json.loads(offset) if isinstance(offset, str) else offset
            if found and "started_us" in found:
                return float(found["started_us"]) / 1000
    raise BadInput("the query has no source of the format nexmark")
