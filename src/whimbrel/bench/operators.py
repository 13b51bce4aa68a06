"""``whimbrel bench operators``: every operator beside the native way of Spark.

That is Spark's own JVM operator on RocksDB where there is one, else ``transformWithState`` with the same Python.

Both read the same stream in the same session; where the native way costs a millisecond per key, it gets a small share of
the rows and keys, so that its epochs end. Whimbrel's epochs are measured steady, then while the job is scaled from two
slots to all of them, then steady again; its state is checked against what the rows so far must leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whimbrel.bench import peers
from whimbrel.bench.choosing import announced, wanted
from whimbrel.bench.epochs import Follower, Measured, percentiles, run_epochs
from whimbrel.bench.folders import folder_of_a_run
from whimbrel.bench.operator_cases import Case
from whimbrel.bench.session import bench_session
from whimbrel.bench.timed_stream import TimedStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SYSTEMS = ("whimbrel", "native-rocksdb", "transformwithstate")
WARM_UP_EPOCHS = 4


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run. ``scale`` shrinks every batch and the keys, for tests."""

    keys: int = 1_000_000
    rows_per_epoch: int = 500_000
    slots: int = 4
    bins: int = 256
    size: int = 16
    seconds: float = 10.0
    epochs: int = 5
    scale: float = 1.0

    def stream_of(self, case: Case, system: str = "whimbrel") -> TimedStream:
        """The stream that a system of a case reads."""
        scale = self.scale * (case.share if system == "whimbrel" else case.peer_share)
        return TimedStream(max(1, int(self.keys * scale)), max(1, int(self.rows_per_epoch * scale)))


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """A record per operator and system (``operators``, ``peers``: names; ``keys``, ``seconds``, …).

    Raises BadInput for an operator or a system that is not there.
    """
    cases = all_cases()
    chosen, systems = wanted(options, list(cases), "operators", "operator"), wanted(options, SYSTEMS)
    settings = Settings(**{k: v for k, v in options.items() if k in Settings.__dataclass_fields__ and v is not None})
    with bench_session() as spark:
        results = [
            _record(spark, name, cases[name], system, settings)
            for name in announced(options, chosen)
            for system in systems
            if system in ("whimbrel", cases[name].peer)
        ]
    return {"bench": "operators", "settings": asdict(settings), "results": with_ratios(results)}


def all_cases() -> dict[str, Case]:
    """Every case by the name of its operator."""
    from whimbrel.bench import aggregate_cases, operator_cases, python_cases

    return aggregate_cases.CASES | operator_cases.CASES | python_cases.CASES


def with_ratios(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each record of ours with two ratios of the same run.

    ``times_native`` is its rows per second over those of the native way; ``during_over_steady`` is its longest epoch
    while the job was rescaled over the longest one before.
    """
    native = {r["operator"]: r["rows_per_second"] for r in results if r["system"] != "whimbrel"}
    for record in results:
        lengths = record.get("epoch_ms", {})
        during, before = (lengths.get(part, {}).get("max") for part in ("during", "before"))
        if during and before:
            record["during_over_steady"] = round(during / before, 2)
        other = native.get(record["operator"])
        if record["system"] == "whimbrel" and other:
            record["times_native"] = round(record["rows_per_second"] / other, 2)
    return results


def _record(spark: SparkSession, name: str, case: Case, system: str, settings: Settings) -> dict[str, Any]:
    with folder_of_a_run() as folder:
        measure = _ours if system == "whimbrel" else _native
        return {"operator": name, "system": system, **measure(spark, case, settings, folder)}


def _native(spark: SparkSession, case: Case, settings: Settings, folder: Path) -> dict[str, Any]:
    peers.use_provider(spark, peers.ROCKSDB, settings.slots)
    stream = settings.stream_of(case, case.peer)
    query = _start(case.native(stream.read(spark)), case.mode, folder)
    steady = run_epochs(query, settings.epochs + WARM_UP_EPOCHS, settings.seconds).after(WARM_UP_EPOCHS)
    return _figures(steady, (steady.duration_ms, [], []), stream) | {"correct": None}


def _ours(spark: SparkSession, case: Case, settings: Settings, folder: Path) -> dict[str, Any]:
    import whimbrel
    from whimbrel.migration import Pacing
    from whimbrel.model.assignment import Assignment
    from whimbrel.runtime.reading import read_table

    sizes = {"max_slots": settings.slots, "bins": settings.bins, "slots": max(1, settings.slots // 2)}
    job = whimbrel.job(spark, "operators", directory=folder, **sizes)
    stream = settings.stream_of(case)
    follower = Follower(_start(case.ours(job, stream.read(spark)), "append", folder))
    try:
        follower.epochs(WARM_UP_EPOCHS)
        follower.epochs(settings.epochs, settings.seconds)
        first = follower.newest + 1
        target = Assignment.even(settings.bins, settings.slots)
        job.board.post_target(target, Pacing.of("batched", size=settings.size))
        follower.until(lambda: job.status().settled)
        last = follower.newest
        follower.epochs(settings.epochs)
    finally:
        measured = follower.stop()
    steady = measured.after(WARM_UP_EPOCHS)
    parts = (steady.between(0, first - 1), steady.between(first, last), steady.between(last + 1, 1 << 60))
    report = job.audit()
    state = read_table(spark, job.board, job.checkpoint, case.name, case.table)
    job.close()
    correct = report.ok and case.holds(state, stream, report.rows)
    return _figures(steady, parts, stream) | {"correct": correct}


def _figures(
    steady: Measured, parts: tuple[list[float], list[float], list[float]], stream: TimedStream
) -> dict[str, Any]:
    lengths = dict(zip(("before", "during", "after"), map(percentiles, parts), strict=True))
    return {
        "rows_per_second": round(steady.rows_per_second),
        "rows_per_epoch": stream.rows_per_epoch,
        "keys": stream.keys,
        "epochs": len(steady.epochs),
        "epoch_ms": lengths,
        "silence_ms": round(steady.longest_silence_ms()),
    }


def _start(result: DataFrame, mode: str, folder: Path) -> Any:
    writer = result.writeStream.format("noop").outputMode(mode)
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()
