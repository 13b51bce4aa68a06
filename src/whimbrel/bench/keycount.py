"""``whimbrel bench keycount``: counting rows per key, every way that PySpark offers, in one run.

Throughput depends on how many rows an epoch takes, and more for some systems than for others. So every system is tried
with the same numbers of rows, as far as its epochs stay within ``EPOCH_MS_MAX``; its record gives the largest of them, and
``by_rows`` all that were tried. All read the same stream of keys and every final count is compared with the oracle's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.bench import peers
from whimbrel.bench.choosing import announced, wanted
from whimbrel.bench.epochs import Measured, percentiles, run_epochs
from whimbrel.bench.folders import folder_of_a_run
from whimbrel.bench.session import bench_session
from whimbrel.bench.streams import KeyStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whimbrel.runtime.job import Job

SYSTEMS = (
    "whimbrel", "identity", "identity-tuned", "native-rocksdb", "native-hdfs", "transformwithstate",
    "applyinpandaswithstate",
)  # fmt: skip
ROWS_PER_EPOCH = (1_000_000, 4_000_000, 16_000_000)
EPOCH_MS_MAX = 4000.0
"""Epochs that last longer are not what a stream is run with."""
_PER_KEY = {"transformwithstate": (20_000,), "applyinpandaswithstate": (20_000,)}
WARM_UP_EPOCHS = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run. ``scale`` shrinks every batch, for tests; ``rows`` is one batch size for all systems."""

    keys: int = 1_000_000
    slots: int = 4
    bins: int = 256
    seconds: float = 12.0
    epochs: int = 4
    skew: str = "uniform"
    kind: str = "long"
    scale: float = 1.0
    rows: int | None = None

    def streams(self, system: str) -> list[KeyStream]:
        """The streams to try with a system, by rows per epoch."""
        sizes = (self.rows,) if self.rows else _PER_KEY.get(system, ROWS_PER_EPOCH)
        return [KeyStream(self.keys, max(1, int(rows * self.scale)), self.skew, self.kind) for rows in sizes]


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """The records of all peers asked for (``peers``: names; ``seconds``, ``keys``, ``skew``, ``kind``, …)."""
    chosen = wanted(options, SYSTEMS)
    settings = Settings(**{k: v for k, v in options.items() if k in Settings.__dataclass_fields__ and v is not None})
    with bench_session() as spark:
        return {
            "bench": "keycount",
            "settings": settings_of(settings),
            "results": [measure(spark, system, settings) for system in announced(options, chosen)],
        }


def settings_of(settings: Settings) -> dict[str, Any]:
    """The sizes as plain data."""
    return {name: getattr(settings, name) for name in Settings.__dataclass_fields__}


def measure(spark: SparkSession, system: str, settings: Settings) -> dict[str, Any]:
    """One system's record: its largest batch whose epochs stay within the limit, or else its smallest."""
    tried: list[dict[str, Any]] = []
    for stream in settings.streams(system):
        tried.append(_measure(spark, system, stream, settings))
        if _typical_ms(tried[-1]) > EPOCH_MS_MAX:
            break
    within = [record for record in tried if _typical_ms(record) <= EPOCH_MS_MAX]
    by_rows = {str(record["rows_per_epoch"]): record["rows_per_second"] for record in tried}
    wrong = [record for record in tried if record["correct"] is False]
    return {**(within or tried[:1])[-1], **({"correct": False} if wrong else {}), "by_rows": by_rows}


def _typical_ms(record: Mapping[str, Any]) -> float:
    return float(record["epoch_ms"]["before"]["p50"])


def _measure(spark: SparkSession, system: str, stream: KeyStream, settings: Settings) -> dict[str, Any]:
    with folder_of_a_run() as folder:
        measured, counts = _SYSTEMS[system](spark, stream, settings, folder)
    steady = measured.after(WARM_UP_EPOCHS)
    return {
        "system": system,
        "rows_per_second": round(steady.rows_per_second),
        "rows_per_epoch": stream.rows_per_epoch,
        "epochs": len(steady.epochs),
        "epoch_ms": {"before": percentiles(steady.duration_ms), "during": percentiles([]), "after": percentiles([])},
        "silence_ms": measured.longest_silence_ms(),
        "correct": None if counts is None else agrees(counts, stream, sum(measured.rows)),
    }


def agrees(counts: Mapping[Any, int], stream: KeyStream, rows: int) -> bool:
    """Whether the final counts are those of the first ``rows`` rows (or of the epoch that was cut off after them)."""
    keys = np.fromiter((int(key) for key in counts), np.int64, len(counts))
    found = np.zeros(stream.keys, np.int64)
    found[keys] = np.fromiter(counts.values(), np.int64, len(counts))
    return bool(np.array_equal(found, stream.counts(int(found.sum())))) and int(found.sum()) >= rows


Run = Callable[["SparkSession", KeyStream, Settings, Path], tuple[Measured, "Mapping[Any, int] | None"]]


def _native(provider: str) -> Run:
    def run_native(spark: SparkSession, stream: KeyStream, settings: Settings, folder: Path) -> tuple[Measured, Any]:
        peers.use_provider(spark, provider, settings.slots)
        measured = _write(peers.native(stream.read(spark)), "update", folder, settings)
        return measured, peers.native_counts(spark, str(folder / "checkpoint"))

    return run_native


def _identity(spark: SparkSession, stream: KeyStream, settings: Settings, folder: Path) -> tuple[Measured, None]:
    peers.use_provider(spark, peers.ROCKSDB, settings.slots)
    return _write(peers.identity(stream.read(spark)), "append", folder, settings), None


def _identity_tuned(spark: SparkSession, stream: KeyStream, settings: Settings, folder: Path) -> tuple[Measured, None]:
    peers.use_provider(spark, peers.ROCKSDB, settings.slots)
    peers.use_job_settings(spark, settings.slots)
    return _write(peers.identity(stream.read(spark)), "append", folder, settings), None


def _per_key(build: Callable[[DataFrame], DataFrame], counts: peers.Counts) -> Run:
    def run_per_key(spark: SparkSession, stream: KeyStream, settings: Settings, folder: Path) -> tuple[Measured, Any]:
        peers.use_provider(spark, peers.ROCKSDB, settings.slots)
        measured = _write(build(stream.read(spark)), "update", folder, settings)
        return measured, counts(spark, str(folder / "checkpoint"))

    return run_per_key


def _whimbrel(spark: SparkSession, stream: KeyStream, settings: Settings, folder: Path) -> tuple[Measured, Any]:
    import whimbrel
    from whimbrel.runtime.operators.aggregates import count

    job = whimbrel.job(spark, "keycount", max_slots=settings.slots, bins=settings.bins, directory=folder)
    counts = job.aggregate(stream.read(spark), "key", n=count())
    measured = _write(counts, "append", folder, settings)
    final = job_counts(spark, job)
    job.close()
    return measured, final


def job_counts(spark: SparkSession, job: Job) -> dict[Any, int]:
    """The count of every key in the committed state of a job that counts rows per ``key`` as ``n``."""
    from whimbrel.runtime.reading import read_table

    final = read_table(spark, job.board, job.checkpoint, "aggregate", "keys")
    return dict(zip(final.column("key").to_pylist(), final.column("n").to_pylist(), strict=True))


def _write(result: DataFrame, mode: str, folder: Path, settings: Settings) -> Measured:
    writer = result.writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(folder / "checkpoint"))
    return run_epochs(writer.start(), settings.epochs + WARM_UP_EPOCHS, settings.seconds)


_SYSTEMS: dict[str, Run] = {
    "whimbrel": _whimbrel,
    "identity": _identity,
    "identity-tuned": _identity_tuned,
    "native-rocksdb": _native(peers.ROCKSDB),
    "native-hdfs": _native(peers.HDFS),
    "transformwithstate": _per_key(peers.transform_with_state, peers.transform_with_state_counts),
    "applyinpandaswithstate": _per_key(peers.apply_in_pandas, peers.apply_in_pandas_counts),
}
