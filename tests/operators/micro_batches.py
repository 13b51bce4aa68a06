"""Streams of chosen micro-batches, run through Whimbrel (while its bins migrate) and through Spark's own operators."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import whimbrel
from whimbrel.migration import Pacing
from whimbrel.model import Assignment

BINS, SLOTS = 16, 4
TARGETS = {0: 4, 1: 1, 3: 3}
"""After which epoch the job is sent to how many slots: out, in, and out again."""


class Input:
    """One stream whose micro-batches are the given tables, one file each."""

    def __init__(self, folder: Path, batches: Sequence[pa.Table]) -> None:
        self.folder, self.schema = folder, batches[0].schema
        folder.mkdir(parents=True)
        for number, batch in enumerate(batches):
            path = folder / f"{number:05d}.parquet"
            pq.write_table(batch, path)
            os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))

    def read(self, spark: Any) -> Any:
        """The streaming DataFrame."""
        from pyspark.sql.pandas.types import from_arrow_schema

        reader = spark.readStream.schema(from_arrow_schema(self.schema)).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder))


def run(result: Any, checkpoint: str, mode: str, after: Callable[[int], None] = lambda epoch: None) -> list[dict]:
    """Runs a streaming result until its input is used up; all emitted rows, in order of their epochs."""
    if "connect" in type(result).__module__:
        return _run_connected(result, checkpoint, mode, after)
    emitted: list[dict] = []

    def take(frame: Any, epoch: int) -> None:
        emitted.extend(row.asDict(recursive=True) for row in frame.collect())
        after(epoch)

    query = result.writeStream.option("checkpointLocation", checkpoint).outputMode(mode).foreachBatch(take).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
        query.awaitTermination(10)
    return emitted


def _run_connected(result: Any, checkpoint: str, mode: str, after: Callable[[int], None]) -> list[dict]:
    # Over Connect a function of foreachBatch runs beside the server: the rows come back through a table instead, and
    # ``after`` hears of an epoch a little later.
    name = f"emitted_{time.monotonic_ns()}"
    writer = result.writeStream.option("checkpointLocation", checkpoint).outputMode(mode)
    query = writer.format("memory").queryName(name).start()
    told = 0
    try:
        waiting = threading.Thread(target=query.processAllAvailable)
        waiting.start()
        while waiting.is_alive():
            waiting.join(0.1)
            newest = (query.lastProgress or {}).get("batchId", -1)
            for epoch in range(told, newest + 1):
                after(epoch)
            told = max(told, newest + 1)
        query.processAllAvailable()
    finally:
        query.stop()
    return [row.asDict(recursive=True) for row in result.sparkSession.table(name).collect()]


def run_migrating(
    spark: Any,
    folder: Path,
    build: Callable[..., Any],
    inputs: Sequence[Input],
    mode: str = "append",
    targets: Mapping[int, int] = TARGETS,
    look: Callable[[Any], None] = lambda job: None,
) -> list[dict]:
    """Runs ``build(job, *streams)`` on two slots at first; posts the targets after their epochs, audits the end."""
    job = whimbrel.job(spark, "operators", max_slots=SLOTS, bins=BINS, slots=2, directory=folder / "job")
    result = build(job, *(given.read(spark) for given in inputs))

    def after(epoch: int) -> None:
        if epoch in targets:
            job.board.post_target(Assignment.even(BINS, targets[epoch]), Pacing.of("batched", size=8))

    try:
        emitted = run(result, job.checkpoint, mode, after)
        assert job.status().settled and len(job.status().slots) == targets[max(targets)]
        assert job.audit().ok
        look(job)
    finally:
        job.close()
    return emitted


def run_native(spark: Any, folder: Path, result: Any, mode: str = "append") -> list[dict]:
    """Runs Spark's own operators, with the extra epochs that close windows on an idle stream."""
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
    try:
        return run(result, str(folder / f"native-{time.monotonic_ns()}"), mode)
    finally:
        spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")


def same(left: Sequence[dict], right: Sequence[dict]) -> None:
    """Fails with the rows that differ."""
    one, other = sorted(map(repr, left)), sorted(map(repr, right))
    ours = [row for row in one if row not in other or one.count(row) != other.count(row)]
    theirs = [row for row in other if row not in one or one.count(row) != other.count(row)]
    assert one == other, "ours only:\n" + "\n".join(ours[:12]) + "\nexpected only:\n" + "\n".join(theirs[:12])
