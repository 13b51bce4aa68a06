"""``whimbrel bench endurance``: a counter that moves a bin in every epoch, for hundreds of epochs, in level memory.

The driver's JVM (which in a local session is the executor too) and the Python processes are sampled all the while. A leak
of the handover (a ledger, a transfer, a seal that is kept) shows as a quarter of the run that is larger than the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.bench.choosing import wanted
from whimbrel.bench.epochs import Follower, Measured, percentiles
from whimbrel.bench.folders import folder_of_a_run
from whimbrel.bench.memory import MemoryWatch, Sample
from whimbrel.bench.session import bench_session
from whimbrel.bench.streams import KeyStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whimbrel.runtime.job import Job

EPOCHS, WARM_UP_EPOCHS = 500, 20
LEVEL = 1.1
"""The last quarter may be this much larger than the one before it and still count as level."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run."""

    keys: int = 100_000
    rows_per_epoch: int = 5_000
    bins: int = 64
    slots: int = 4
    epochs: int = EPOCHS


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """One record; ``scale`` shortens the run: 0.02 is ten epochs."""
    wanted(options, ("whimbrel",))
    sizes = {k: options[k] for k in ("keys", "bins") if options.get(k)}
    settings = Settings(epochs=max(8, round(EPOCHS * float(options.get("scale") or 1))), **sizes)
    with folder_of_a_run() as folder, bench_session() as spark:
        # The follower looks often, and every look reads all that Spark remembers.
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "50")
        return {"bench": "endurance", "keys": settings.keys, "results": [_record(spark, settings, folder)]}


def _record(spark: SparkSession, settings: Settings, folder: Path) -> dict[str, Any]:
    import whimbrel
    from whimbrel.runtime.operators.aggregates import count

    slots, stream = settings.slots, KeyStream(settings.keys, settings.rows_per_epoch)
    job: Job = whimbrel.job(spark, "endurance", max_slots=slots, bins=settings.bins, directory=folder)
    query = job.writer(job.aggregate(stream.read(spark), "key", n=count())).format("noop").start()
    follower = Follower(query)
    try:
        follower.epochs(min(WARM_UP_EPOCHS, settings.epochs))
        first = follower.newest + 1
        watch = MemoryWatch().start()
        _keep_moving(job, follower, settings, first + settings.epochs)
        samples = watch.stop()
    finally:
        query.stop()
    measured = follower.stop()
    moved = sum(bool(s and s.leaving.moves) for s in map(job.board.seals.read, range(first, first + settings.epochs)))
    report = job.audit()
    record = _summary(measured, first, samples) | {"moving_epochs": moved, "rows": report.rows}
    record["correct"] = report.ok and _is_exact(spark, job, stream)
    job.close()
    return record


def _keep_moving(job: Job, follower: Follower, settings: Settings, end: int) -> None:
    """One bin per epoch, round and round: the next plan is posted before the one in progress ends."""
    from whimbrel.migration import Pacing
    from whimbrel.model import Assignment

    turn = 0
    while follower.newest < end:
        if len(job.status().waiting) < 2:
            turn += 1
            target = Assignment(tuple((b + turn) % settings.slots for b in range(settings.bins)))
            job.board.post_target(target, Pacing.of("fluid"))
        before = follower.newest
        follower.until(lambda newest=before: follower.newest > newest)  # type: ignore[misc]


def _is_exact(spark: SparkSession, job: Job, stream: KeyStream) -> bool:
    from whimbrel.runtime.reading import read_table

    final = read_table(spark, job.board, job.checkpoint, "aggregate", "keys")
    found = np.zeros(stream.keys, np.int64)
    found[final.column("key").to_numpy()] = final.column("n").to_numpy()
    return bool((found == stream.counts(int(found.sum()))).all() and found.any())


def _summary(measured: Measured, first: int, samples: Sequence[Sample]) -> dict[str, Any]:
    jvm, python = _quarters([s.jvm_bytes for s in samples]), _quarters([s.python_bytes for s in samples])
    return {
        "system": "whimbrel",
        "epochs": len([e for e in measured.epochs if e >= first]),
        "epoch_ms": {"during": percentiles(measured.between(first, measured.epochs[-1]))},
        "jvm_mib": jvm,
        "python_mib": python,
        "level": all(part[3] <= LEVEL * part[2] for part in (jvm, python)),
    }


def _quarters(sizes: Sequence[int]) -> list[int]:
    """The median size of each quarter of the run, in MiB."""
    return [round(float(np.median(part)) / 2**20) if len(part) else 0 for part in np.array_split(sizes, 4)]
