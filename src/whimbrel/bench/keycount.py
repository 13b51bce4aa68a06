"""``whimbrel bench keycount``: counting rows per key, every way that PySpark offers, in one run.

Throughput only makes sense at a batch size that a system can bear, so each gets its own, said in its record;
all read the same stream of keys and every final count is compared with the oracle's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.bench import peers
from whimbrel.bench.choosing import announced, wanted
from whimbrel.bench.epochs import Measured, percentiles, run_epochs
from whimbrel.bench.session import bench_session
from whimbrel.bench.streams import KeyStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SYSTEMS = ("whimbrel", "identity", "native-rocksdb", "native-hdfs", "transformwithstate", "applyinpandaswithstate")
_ROWS = {"whimbrel": 4_000_000, "identity": 4_000_000, "native-rocksdb": 1_000_000, "native-hdfs": 1_000_000}
_ROWS_PER_KEY_CALL = 20_000
WARM_UP_EPOCHS = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run. ``scale`` shrinks every batch, for tests."""

    keys: int = 1_000_000
    slots: int = 4
    bins: int = 256
    seconds: float = 20.0
    epochs: int = 4
    skew: str = "uniform"
    kind: str = "long"
    scale: float = 1.0

    def stream(self, system: str) -> KeyStream:
        """The stream of one system."""
        rows = int(_ROWS.get(system, _ROWS_PER_KEY_CALL) * self.scale)
        return KeyStream(self.keys, max(1, rows), self.skew, self.kind)


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
    """One system's record."""
    stream = settings.stream(system)
    folder = Path(tempfile.mkdtemp(prefix="whimbrel-bench-"))
    try:
        measured, counts = _SYSTEMS[system](spark, stream, settings, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
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


def _per_key(build: Callable[[DataFrame], DataFrame]) -> Run:
    def run_per_key(spark: SparkSession, stream: KeyStream, settings: Settings, folder: Path) -> tuple[Measured, None]:
        peers.use_provider(spark, peers.ROCKSDB, settings.slots)
        return _write(build(stream.read(spark)), "update", folder, settings), None

    return run_per_key


def _whimbrel(spark: SparkSession, stream: KeyStream, settings: Settings, folder: Path) -> tuple[Measured, Any]:
    import whimbrel
    from whimbrel.runtime.operators.aggregates import count
    from whimbrel.runtime.reading import read_table

    job = whimbrel.job(spark, "keycount", max_slots=settings.slots, bins=settings.bins, directory=folder)
    counts = job.aggregate(stream.read(spark), "key", n=count())
    measured = _write(counts, "append", folder, settings)
    final = read_table(spark, job.board, job.checkpoint, "aggregate", "keys")
    job.close()
    return measured, dict(zip(final.column("key").to_pylist(), final.column("n").to_pylist(), strict=True))


def _write(result: DataFrame, mode: str, folder: Path, settings: Settings) -> Measured:
    writer = result.writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(folder / "checkpoint"))
    return run_epochs(writer.start(), settings.epochs + WARM_UP_EPOCHS, settings.seconds)


_SYSTEMS: dict[str, Run] = {
    "whimbrel": _whimbrel,
    "identity": _identity,
    "native-rocksdb": _native(peers.ROCKSDB),
    "native-hdfs": _native(peers.HDFS),
    "transformwithstate": _per_key(peers.transform_with_state),
    "applyinpandaswithstate": _per_key(peers.apply_in_pandas),
}
