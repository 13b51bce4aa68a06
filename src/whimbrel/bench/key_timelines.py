"""Counters under open-loop load that migrate: Megaphone's micro-benchmark, at any size, and its steady state.

Bin i starts on slot i mod n; before each reported migration an unreported one moves a quarter of the bins away.
All pacings follow each other in one run, so that they move the same state. The counts are compared with the oracle's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.bench import peers
from whimbrel.bench.folders import folder_of_a_run
from whimbrel.bench.key_source import OpenLoopKeys
from whimbrel.bench.memory import MemoryWatch, Sample
from whimbrel.bench.open_loop import committed_epochs, histogram, latencies_ms, started_ms
from whimbrel.bench.timeline_run import Watched, balanced, change_live, imbalanced, move_at_once, records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from whimbrel.runtime.job import Job

WARM_UP_SECONDS = 5.0
Progress = list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CountingSizes:
    """``seconds`` are watched before and after a migration, or in all where nothing migrates."""

    keys: int = 1_000_000
    rate: int = 20_000
    bins: int = 256
    slots: int = 4
    size: int = 16
    seconds: float = 6.0

    @property
    def feed(self) -> OpenLoopKeys:
        """What the counter reads."""
        return OpenLoopKeys(self.keys, self.rate)


def migrations(spark: SparkSession, sizes: CountingSizes, pacings: Sequence[str]) -> list[dict[str, Any]]:
    """One record per pacing: latencies, duration, bytes, and the memory before and at its highest."""
    return _in_a_folder(lambda folder: _migrations(spark, sizes, pacings, folder))


def steady(spark: SparkSession, sizes: CountingSizes, system: str = "whimbrel") -> dict[str, Any]:
    """The latency of ``whimbrel`` or ``native-rocksdb`` while nothing migrates."""
    return _in_a_folder(lambda folder: [_steady(spark, sizes, system, folder)])[0]


def _in_a_folder(measure: Callable[[Path], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    with folder_of_a_run() as folder:
        return measure(folder)


def _migrations(
    spark: SparkSession, sizes: CountingSizes, pacings: Sequence[str], folder: Path
) -> list[dict[str, Any]]:
    ours = _job(spark, sizes, folder)
    even = balanced(sizes.bins, sizes.slots)
    skewed = imbalanced(even, sizes.slots)
    ours.board.post_target(even, _at_once())
    watched = Watched(_start_ours(spark, ours, sizes), "the counter")
    memory, changes = MemoryWatch().start(), []
    try:
        watched.until_taken(sizes.keys)
        watched.for_seconds(WARM_UP_SECONDS)
        for pacing in pacings:
            move_at_once(watched, ours, skewed)
            changes.append(change_live(watched, ours, even, pacing, sizes.size, sizes.seconds))
    finally:
        progress, samples = watched.stop(), memory.stop()
    state_bytes = int(sum(ours.board.load(8).state))
    correct = _is_correct(spark, ours, sizes, progress)
    ours.close()
    found = records(progress, changes, sizes.feed.due_ms, sizes.keys)
    about = {"keys": sizes.keys, "bins": sizes.bins, "rate": sizes.rate, "state_bytes": state_bytes, "correct": correct}
    return [
        {**record, **about, **_memory(samples, change.began_ms, change.moved_ms, change.settled_ms)}
        for record, change in zip(found, changes, strict=True)
    ]


def _memory(samples: Sequence[Sample], began: float, moved: float, settled: float) -> dict[str, Any]:
    """The median before, the most during, and the samples around one migration."""
    if not samples:
        return {}
    before = [s.jvm_bytes + s.python_bytes for s in samples if began <= s.at_ms < moved]
    during = [s.jvm_bytes + s.python_bytes for s in samples if moved <= s.at_ms < settled + 1000]
    return {
        "memory_before_bytes": int(np.median(before or [0])),
        "memory_most_bytes": max(during, default=0),
        "memory": [
            {"at_ms": s.at_ms - began, "jvm_bytes": s.jvm_bytes, "python_bytes": s.python_bytes}
            for s in samples
            if began <= s.at_ms < settled + 5000
        ],
    }


def _steady(spark: SparkSession, sizes: CountingSizes, system: str, folder: Path) -> dict[str, Any]:
    if system == "whimbrel":
        ours = _job(spark, sizes, folder)
        query = _start_ours(spark, ours, sizes)
    else:
        peers.use_provider(spark, peers.ROCKSDB, sizes.slots)
        query = _write(peers.native(sizes.feed.read(spark)), "update", folder / "checkpoint", None)
    watched = Watched(query, system)
    try:
        watched.until_taken(sizes.keys)
        watched.for_seconds(WARM_UP_SECONDS)
        warm = _taken(list(query.recentProgress))
        watched.steadily(sizes.seconds)
    finally:
        progress = watched.stop()
    epochs = committed_epochs(progress)
    numbers = np.arange(warm, epochs[-1].until)
    due = sizes.feed.due_ms(numbers, started_ms(progress))
    found = histogram(latencies_ms(epochs, lambda _: due, first=warm))
    if system == "whimbrel":
        correct = _is_correct(spark, ours, sizes, progress)
        ours.close()
    else:
        correct = _native_is_correct(spark, sizes, folder)
    about = {"keys": sizes.keys, "rate": sizes.rate, "bins": sizes.bins if system == "whimbrel" else 0}
    return {"system": system, **about, **found, "epochs": len(epochs), "correct": correct}


def _job(spark: SparkSession, sizes: CountingSizes, folder: Path) -> Job:
    from whimbrel.runtime.job import job

    return job(spark, "counting", max_slots=sizes.slots, bins=sizes.bins, directory=folder / "job")


def _at_once() -> Any:
    from whimbrel.migration import Pacing

    return Pacing.of("all-at-once")


def _start_ours(spark: SparkSession, ours: Job, sizes: CountingSizes, until: int | None = None) -> StreamingQuery:
    from whimbrel.runtime.operators.aggregates import count

    counts = ours.aggregate(sizes.feed.read(spark, until), "key", n=count())
    return _write(counts, "append", Path(ours.checkpoint), until)


def _write(result: DataFrame, mode: str, checkpoint: Path, until: int | None) -> StreamingQuery:
    writer = result.writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(checkpoint))
    return (writer if until is None else writer.trigger(availableNow=True)).start()


def _taken(progress: Progress) -> int:
    return max((epoch.until for epoch in committed_epochs(progress)), default=0)


def _is_correct(spark: SparkSession, ours: Job, sizes: CountingSizes, progress: Progress) -> bool:
    """Finishes the epoch that was cut off, then compares every count."""
    from whimbrel.runtime.reading import read_table

    last = _taken(progress)
    query = _start_ours(spark, ours, replace(sizes), last + sizes.rate)
    query.awaitTermination()
    rows = max(last, _taken(list(query.recentProgress)))
    final = read_table(spark, ours.board, ours.checkpoint, "aggregate", "keys")
    found = np.zeros(sizes.keys, np.int64)
    found[final.column("key").to_numpy()] = final.column("n").to_numpy()
    return bool(np.array_equal(found, sizes.feed.counts(rows))) and ours.audit().ok


def _native_is_correct(spark: SparkSession, sizes: CountingSizes, folder: Path) -> bool:
    counts = peers.native_counts(spark, str(folder / "checkpoint"))
    found = np.zeros(sizes.keys, np.int64)
    found[np.fromiter(counts, np.int64, len(counts))] = np.fromiter(counts.values(), np.int64, len(counts))
    return bool(np.array_equal(found, sizes.feed.counts(int(found.sum()))))
