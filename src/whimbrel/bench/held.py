"""``whimbrel bench held``: an epoch should cost what it touches, not what the state holds.

The same small epochs over ever more held keys, beside Spark's own operator; then a cold start: the local copies
are deleted, and the first epoch rebuilds them from the state store.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whimbrel.bench import peers
from whimbrel.bench.choosing import announced, wanted
from whimbrel.bench.epochs import percentiles, run_epochs
from whimbrel.bench.folders import folder_of_a_run
from whimbrel.bench.session import bench_session
from whimbrel.bench.streams import KeyStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SYSTEMS = ("whimbrel", "native-rocksdb")
HELD = (100_000, 1_000_000, 10_000_000)
ROWS_PER_EPOCH = 2_000
SLOTS = 4
_PRELOAD_ROWS = 4_000_000
_WARM_UP_EPOCHS = 8


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """A record per system and number of held keys; steady epochs go on for ``seconds`` at least."""
    sizes = [int(options["keys"])] if options.get("keys") else list(HELD)
    chosen = wanted(options, SYSTEMS)
    results = []
    with bench_session("6g") as spark:
        for system in announced(options, chosen):
            for keys in sizes:
                with folder_of_a_run() as folder:
                    results.append(_record(spark, system, keys, folder, float(options.get("seconds") or 0)))
    return {"bench": "held", "rows_per_epoch": ROWS_PER_EPOCH, "results": results}


def _record(spark: SparkSession, system: str, keys: int, folder: Path, seconds: float) -> dict[str, Any]:
    preload = KeyStream(keys, min(_PRELOAD_ROWS, max(keys, 200_000)))
    epochs = max(3, -(-3 * keys // preload.rows_per_epoch))
    _run(spark, system, preload, folder, epochs)
    steady = _run(spark, system, KeyStream(keys, ROWS_PER_EPOCH), folder, 40, seconds)
    record = {
        "system": system,
        "keys": keys,
        "epoch_ms": {"before": percentiles(steady.after(_WARM_UP_EPOCHS).duration_ms)},
        "rows_per_second": round(steady.after(_WARM_UP_EPOCHS).rows_per_second),
    }
    if system == "whimbrel":
        from whimbrel.runtime.copies import forget_copies

        warm = _run(spark, system, KeyStream(keys, ROWS_PER_EPOCH), folder, 3)
        forget_copies(str(folder))
        cold = _run(spark, system, KeyStream(keys, ROWS_PER_EPOCH), folder, 3)
        record["cold_start_ms"] = round(cold.duration_ms[0])
        record["warm_start_ms"] = round(warm.duration_ms[0])
    return record


def _run(spark: SparkSession, system: str, stream: KeyStream, folder: Path, epochs: int, seconds: float = 0.0) -> Any:
    if system == "whimbrel":
        import whimbrel
        from whimbrel.runtime.operators.aggregates import count

        job = whimbrel.job(spark, "held", max_slots=SLOTS, bins=256, directory=folder)
        result, mode = job.aggregate(stream.read(spark), "key", n=count()), "append"
    else:
        peers.use_provider(spark, peers.ROCKSDB if system == "native-rocksdb" else peers.HDFS, SLOTS)
        result, mode = peers.native(stream.read(spark)), "update"
    writer = result.writeStream.format("noop").outputMode(mode)
    return run_epochs(writer.option("checkpointLocation", str(folder / "checkpoint")).start(), epochs, seconds)
