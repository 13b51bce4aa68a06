"""Latency of a NEXMark query before, during and after a migration, open loop, for each pacing (Megaphone's Figures 7-12).

As in the paper, bin i starts on slot i mod n, half of the bins of half of the slots move to the others first, which
leaves an imbalance, and the second migration, the one that is reported, restores the balance. All pacings follow
each other in one run of the query, so that they move the same state. Spark's own way (stop, finish the last batch,
repartition the state offline, restart) gets the same load, in a run of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whimbrel.bench import peers
from whimbrel.bench.choosing import wanted
from whimbrel.bench.folders import folder_of_a_run
from whimbrel.bench.needed import need
from whimbrel.bench.nexmark_answers import is_answer
from whimbrel.bench.nexmark_feed import Feed, shape_of
from whimbrel.bench.open_loop import committed_epochs, started_ms
from whimbrel.bench.session import bench_session
from whimbrel.bench.timeline_run import Change, Watched, balanced, change_live, imbalanced, move_at_once, records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from whimbrel.runtime.job import Job

OFFLINE = "spark-offline-repartition"
PACINGS = ("all-at-once", "batched", "optimized")
SYSTEMS = (*PACINGS, "fluid", OFFLINE)
GROUPS = {"whimbrel": PACINGS}
"""What the names of whole systems stand for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run: ``preload`` events (0: the query's own number) fill the state, then ``rate`` are due a second.

    ``seconds`` are watched before and after each migration; ``size`` is that of a batch.
    """

    rate: int = 10_000
    preload: int = 0
    seconds: float = 6.0
    slots: int = 4
    bins: int = 128
    size: int = 4
    event_rate: int = 10_000
    check: bool = True


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """One record per pacing, and one for Spark's own way where ``peers`` asks for it."""
    query = str(options.get("query", ""))
    shape_of(query)
    need("duckdb", "hdrh")
    settings = Settings(**{k: v for k, v in options.items() if k in Settings.__dataclass_fields__ and v is not None})
    chosen = wanted({"peers": options.get("peers") or PACINGS}, SYSTEMS, what="pacing or system", groups=GROUPS)
    with bench_session("6g") as spark:
        results = measure(spark, query, settings, chosen)
    plain = {name: getattr(settings, name) for name in Settings.__dataclass_fields__}
    return {"bench": f"timelines-{query}", "settings": plain, "results": results}


def measure(spark: SparkSession, query: str, settings: Settings, systems: Sequence[str]) -> list[dict[str, Any]]:
    """The records of one query in a session that is there."""
    found: list[dict[str, Any]] = []
    pacings = [name for name in systems if name != OFFLINE]
    for part in ([pacings] if pacings else []) + ([[OFFLINE]] if OFFLINE in systems else []):
        with folder_of_a_run() as folder:
            ride = _Ride(spark, query, settings, folder)
            found += ride.offline() if part == [OFFLINE] else ride.live(part)
    return found


class _Ride:
    def __init__(self, spark: SparkSession, query: str, settings: Settings, folder: Path) -> None:
        shape = shape_of(query)
        self._spark, self._query, self._settings, self._folder = spark, query, settings, folder
        self._feed = Feed(shape, settings.preload or shape.preload, settings.rate, settings.event_rate)

    def live(self, pacings: Sequence[str]) -> list[dict[str, Any]]:
        """Preload, then per pacing: imbalance, steady, the migration, steady."""
        settings = self._settings
        ours = self._job()
        even = balanced(settings.bins, settings.slots)
        skewed = imbalanced(even, settings.slots)
        watched = Watched(self._start_ours(ours), self._query)
        changes = []
        try:
            watched.until_taken(self._feed.preload)
            move_at_once(watched, ours, even)
            for pacing in pacings:
                move_at_once(watched, ours, skewed)
                changes.append(change_live(watched, ours, even, pacing, settings.size, settings.seconds))
        finally:
            progress = watched.stop()
        state_bytes = int(sum(ours.board.load(8).state))
        correct = self._check(progress, lambda until: self._start_ours(ours, until))
        whole = ours.audit().ok
        ours.close()
        found = records(progress, changes, self._feed.due_ms, self._feed.preload)
        about = {"state_bytes": state_bytes, "correct": correct and whole}
        return [{"query": self._query, "system": "whimbrel", **record, **about} for record in found]

    def offline(self) -> list[dict[str, Any]]:
        """Preload, steady, stop, rewrite the state for another number of partitions, restart, steady."""
        settings, checkpoint = self._settings, str(self._folder / "checkpoint")
        peers.use_provider(self._spark, peers.ROCKSDB, settings.slots)
        watched = Watched(self._start_native(), self._query)
        watched.until_taken(self._feed.preload)
        watched.until_drained()
        began = time.time() * 1000
        watched.steadily(settings.seconds)
        moved = time.time() * 1000
        progress = watched.stop()
        taken = committed_epochs(progress)[-1].until
        # The batch that was cut off is committed by this, and its rows are answered: that is when silence begins.
        progress += self._drain(taken, self._start_native)
        taken = committed_epochs(progress)[-1].until
        self._spark._streamingCheckpointManager.repartition(checkpoint, settings.slots + 2)
        watched = Watched(self._start_native(), self._query)
        watched.until_taken(taken)
        settled = time.time() * 1000
        watched.steadily(settings.seconds)
        progress += watched.stop()
        change = Change(OFFLINE, began, moved, settled, time.time() * 1000, {})
        correct = self._check(progress, self._start_native)
        found = records(progress, [change], self._feed.due_ms, self._feed.preload)
        return [{"query": self._query, "system": OFFLINE, **record, "correct": correct} for record in found]

    def _job(self) -> Job:
        from whimbrel.runtime.job import job

        numbers = {"max_slots": self._settings.slots, "bins": self._settings.bins}
        return job(self._spark, self._query, directory=self._folder / "job", **numbers)

    def _start_ours(self, ours: Job, until: int | None = None) -> StreamingQuery:
        from whimbrel.nexmark.queries import migratable_query

        streams = self._feed.streams(self._spark, until)
        return self._write(
            migratable_query(self._query, ours, streams, self._feed.shape.settings()), ours.checkpoint, until
        )

    def _start_native(self, until: int | None = None) -> StreamingQuery:
        from whimbrel.nexmark.native import native_query

        result = native_query(self._query, self._feed.streams(self._spark, until), self._feed.shape.settings())
        return self._write(result, str(self._folder / "checkpoint"), until)

    def _write(self, result: DataFrame, checkpoint: str, until: int | None) -> StreamingQuery:
        # Spark's repartitioning leaves a gap in the batches, over which the file sink's log stumbles when it compacts.
        self._spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "1000000")
        writer = result.writeStream.format("parquet").option("path", str(self._folder / "result"))
        writer = writer.outputMode("append").option("checkpointLocation", checkpoint)
        return (writer if until is None else writer.trigger(availableNow=True)).start()

    def _drain(self, until: int, start: Any) -> list[Mapping[str, Any]]:
        query = start(until)
        query.awaitTermination()
        return list(query.recentProgress)

    def _check(self, progress: Sequence[Mapping[str, Any]], start: Any) -> bool | None:
        """Every source is brought to the same event; then what was given out must be what the reference gives."""
        if not self._settings.check:
            return None
        # What an epoch that was cut off had taken was due by now.
        until = self._feed.due_by(time.time() * 1000, started_ms(progress, min))
        drained = self._drain(until, start)
        return is_answer(self._query, self._feed, until, self._folder / "result", [*progress[-3:], *drained])
