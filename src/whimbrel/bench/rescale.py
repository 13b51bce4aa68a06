"""``whimbrel bench rescale``: a counter is scaled 4 -> 6 -> 3 under steady input, live and in Spark's own way.

All systems hold the same keys and read the same steady stream. Spark's way is the best a user can do today: stop,
finish the last batch, repartition the state offline, restart. Every final count is compared with the oracle's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whimbrel.bench import peers
from whimbrel.bench.choosing import announced, wanted
from whimbrel.bench.epochs import Follower, Measured, percentiles, run_epochs
from whimbrel.bench.folders import folder_of_a_run
from whimbrel.bench.keycount import agrees, job_counts
from whimbrel.bench.session import bench_session
from whimbrel.bench.streams import KeyStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whimbrel.runtime.job import Job

OFFLINE = "spark-offline-repartition"
PACINGS = ("batched", "budget", "all-at-once")
SYSTEMS = (*PACINGS, OFFLINE)
PRELOAD_EPOCHS = 4
WARM_UP_EPOCHS = 5
STEADY_EPOCHS_MIN = 3
KEYS_PER_STEP = 64_000
"""What a step may carry within an epoch of about a second; a fixed number of bins would grow with the state."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run. ``targets`` are the slot counts after ``slots``.

    Each steady phase lasts ``seconds``, with a few epochs at least; without them ``steady_epochs``.
    """

    keys: int = 1_000_000
    slots: int = 4
    targets: tuple[int, ...] = (6, 3)
    max_slots: int = 6
    bins: int = 256
    rows_per_epoch: int = 20_000
    size: int | None = None
    budget_factor: float = 1.25
    steady_epochs: int = 20
    seconds: float | None = None

    @property
    def batch(self) -> int:
        """Bins per step of ``batched``: ``size``, or as many as hold about ``KEYS_PER_STEP`` keys."""
        return self.size or min(16, max(1, self.bins * KEYS_PER_STEP // self.keys))

    def stay_steady(self, follower: Follower) -> None:
        """Lets a query run for the length of a steady phase."""
        if self.seconds is None:
            follower.epochs(self.steady_epochs)
        else:
            follower.epochs(STEADY_EPOCHS_MIN, self.seconds)


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """One record per pacing and one for Spark's own way; ``peers`` chooses (``whimbrel``: all pacings)."""
    chosen = wanted(options, SYSTEMS, groups={"whimbrel": PACINGS})
    settings = Settings(**{k: v for k, v in options.items() if k in Settings.__dataclass_fields__ and v is not None})
    with bench_session() as spark:
        results = [_record(spark, system, settings) for system in announced(options, chosen)]
    return {"bench": "rescale", "keys": settings.keys, "rows_per_epoch": settings.rows_per_epoch, "results": results}


def _record(spark: SparkSession, system: str, settings: Settings) -> dict[str, Any]:
    with folder_of_a_run() as folder:
        if system == OFFLINE:
            return _offline(spark, settings, folder)
        return _live(spark, system, settings, folder)


def _streams(settings: Settings) -> tuple[KeyStream, KeyStream]:
    preload = KeyStream(settings.keys, settings.keys)
    return preload, KeyStream(settings.keys, settings.rows_per_epoch)


def _start(result: DataFrame, mode: str, folder: Path) -> Any:
    writer = result.writeStream.format("noop").outputMode(mode)
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def _live(spark: SparkSession, pacing: str, settings: Settings, folder: Path) -> dict[str, Any]:
    import whimbrel
    from whimbrel.runtime.operators.aggregates import count

    numbers = {"max_slots": settings.max_slots, "bins": settings.bins, "slots": settings.slots}
    job: Job = whimbrel.job(spark, "rescale", directory=folder, **numbers)
    preload, steady = _streams(settings)
    filled = run_epochs(_start(job.aggregate(preload.read(spark), "key", n=count()), "append", folder), PRELOAD_EPOCHS)
    follower = Follower(_start(job.aggregate(steady.read(spark), "key", n=count()), "append", folder))
    follower.epochs(WARM_UP_EPOCHS)
    steady_from = follower.newest + 1
    settings.stay_steady(follower)
    moves = [_move(job, follower, slots, pacing, settings, steady_from) for slots in settings.targets]
    measured = follower.stop()
    report = job.audit()
    correct = report.ok and agrees(job_counts(spark, job), steady, sum(filled.rows) + sum(measured.rows))
    job.close()
    record = _summary(measured, steady_from, [(m["first_epoch"], m["last_epoch"]) for m in moves])
    return {"system": "whimbrel", "pacing": pacing, **record, "moves": moves, "correct": correct, "rows": report.rows}


def _move(
    job: Job, follower: Follower, slots: int, pacing: str, settings: Settings, steady_from: int
) -> dict[str, Any]:
    plan = job.plan(slots=slots)
    steady_ms = follower.measured.between(steady_from, follower.newest)
    chosen: dict[str, Any] = {"pacing": pacing}
    if pacing == "batched":
        chosen["size"] = settings.batch
    if pacing == "budget":
        chosen["p99"] = settings.budget_factor * max(steady_ms)
    job.apply(plan, **chosen)
    first = follower.newest + 1
    follower.until(lambda: job.status().settled)
    last = follower.newest
    sent = sum(r["bytes_out"] for r in _sent(job, first))
    settings.stay_steady(follower)
    return {
        "slots": slots,
        "first_epoch": first,
        "last_epoch": last,
        "bins": plan.moves,
        "plan_bytes": int(plan.cost),
        "moved_bytes": sent,
        "hash_bytes": int(plan.hash_cost),
    }


def _sent(job: Job, first_epoch: int) -> list[dict[str, int]]:
    from whimbrel.control.statistics import read

    return [{"bytes_out": s.bytes_out} for s in read(job.board.store, "aggregate", first_epoch)]


def _summary(measured: Measured, steady_from: int, moves: list[tuple[int, int]]) -> dict[str, Any]:
    """Epoch lengths before the first move, during all moves, and outside them afterwards."""
    during = [d for first, last in moves for d in measured.between(first, last)]
    before = measured.between(steady_from, moves[0][0] - 1)
    after = [
        d
        for (_, last), (nxt, _) in zip(moves, [*moves[1:], (1 << 60, 0)], strict=True)
        for d in measured.between(last + 1, nxt - 1)
    ]
    steady = measured.after(measured.epochs.index(steady_from))
    return {
        "rows_per_second": round(steady.rows_per_second),
        "epoch_ms": {"before": percentiles(before), "during": percentiles(during), "after": percentiles(after)},
        "silence_ms": round(steady.longest_silence_ms()),
    }


def _offline(spark: SparkSession, settings: Settings, folder: Path) -> dict[str, Any]:
    peers.use_provider(spark, peers.ROCKSDB, settings.slots)
    preload, steady = _streams(settings)
    run_epochs(_start(peers.native(preload.read(spark)), "update", folder), PRELOAD_EPOCHS)
    result = peers.native(steady.read(spark))
    follower = Follower(_start(result, "update", folder))
    follower.epochs(WARM_UP_EPOCHS)
    settings.stay_steady(follower)
    before = follower.stop().after(WARM_UP_EPOCHS)
    silences: list[float] = []
    after: list[float] = []
    for slots in settings.targets:
        silences.append(_repartition(spark, result, slots, folder))
        follower = Follower(_start(result, "update", folder))
        restarted = time.monotonic()
        follower.epochs(1)
        silences[-1] += 1000 * (time.monotonic() - restarted)
        settings.stay_steady(follower)
        after += follower.stop().duration_ms
    counts = peers.native_counts(spark, str(folder / "checkpoint"))
    phases = {"before": before.duration_ms, "during": silences, "after": after}
    return {
        "system": OFFLINE,
        "rows_per_second": round(before.rows_per_second),
        "epoch_ms": {name: percentiles(lengths) for name, lengths in phases.items()},
        "silence_ms": round(max(silences)),
        "silences_ms": [round(s) for s in silences],
        "correct": agrees(counts, steady, sum(before.rows)),
    }


def _repartition(spark: SparkSession, result: DataFrame, slots: int, folder: Path) -> float:
    """Finishes the batch that was cut off, then rewrites the state for another number of partitions.

    Returns the milliseconds since that batch was committed: it is an answer that users got, so silence begins after it.
    """
    writer = result.writeStream.format("noop").outputMode("update").trigger(once=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    committed = time.monotonic()
    spark._streamingCheckpointManager.repartition(str(folder / "checkpoint"), slots)
    return 1000 * (time.monotonic() - committed)
