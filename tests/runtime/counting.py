"""A counted stream under a test's control, and the oracle that recounts it in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import whimbrel as wb
from whimbrel.bench.epochs import Follower
from whimbrel.bench.streams import KeyStream
from whimbrel.migration import Pacing
from whimbrel.model import Assignment
from whimbrel.runtime.reading import read_table

BINS, MAX_SLOTS = 16, 4


def open_job(spark, folder: Path, **changes: Any):
    numbers = {"max_slots": MAX_SLOTS, "bins": BINS, "slots": 2} | changes
    return wb.job(spark, "counting", directory=folder / "job", **numbers)


@dataclass
class Running:
    """A job whose query runs; ``follower`` sees its epochs."""

    spark: Any
    job: Any
    stream: KeyStream
    follower: Follower
    sink: Path | None = None

    def move_to(self, target: Assignment, pacing: str = "batched", **settings: Any) -> None:
        if pacing == "budget":
            settings.setdefault("p99_ms", 60_000)
        self.job.board.post_target(target, Pacing.of(pacing, **settings))

    def settle(self) -> None:
        self.follower.until(lambda: self.job.status().settled, 180)

    def stop(self) -> None:
        self.follower.stop()

    def state(self) -> dict[Any, int]:
        table = read_table(self.spark, self.job.board, self.job.checkpoint, "aggregate", "keys")
        return dict(zip(table.column("key").to_pylist(), table.column("n").to_pylist(), strict=True))

    def assert_exact(self) -> None:
        """State equals a recount; every bin has one owner; accepted rows equal counted rows."""
        state = self.state()
        rows = sum(state.values())
        assert rows and rows % self.stream.rows_per_epoch == 0
        recount = self.stream.counts(rows)
        assert state == {self.key(k): int(n) for k, n in enumerate(recount) if n}
        report = self.job.audit()
        assert report.ok, report
        assert report.rows == rows
        assert report.bins == self.job.settings.bins

    def key(self, number: int) -> Any:
        return str(number) if self.stream.kind == "string" else number


def start(spark, folder: Path, stream: KeyStream | None = None, sink: bool = False, **changes: Any) -> Running:
    job = open_job(spark, folder, **changes)
    stream = stream or KeyStream(300, 500)
    counts = job.aggregate(stream.read(spark), "key", n=wb.count())
    writer = job.writer(counts)
    out = folder / "out"
    query = writer.format("parquet").option("path", str(out)).start() if sink else writer.format("noop").start()
    return Running(spark, job, stream, Follower(query), out if sink else None)


def expected_output(stream: KeyStream, epochs: int) -> Counter[tuple[int, int]]:
    """What an updating counter emits: for every epoch, each key that it touched with its count so far."""
    found: Counter[tuple[int, int]] = Counter()
    before = np.zeros(stream.keys, np.int64)
    for epoch in range(epochs):
        after = stream.counts((epoch + 1) * stream.rows_per_epoch)
        found.update((int(k), int(after[k])) for k in np.flatnonzero(after != before))
        before = after
    return found
