"""The Spark settings that a job needs, the same in tests and in production.

Set on the session when a job is opened. The number of shuffle partitions is the number of slots: Spark freezes
it in the checkpoint at the first epoch.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from whimbrel.model.errors import BadInput

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    # Small appends instead of whole snapshots: an epoch costs what it touches.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Format 1 lets a late write of a dead task replace committed state.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "true",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "true",
    # Idle epochs come from the heartbeat, which also runs the router; Spark's own would skip it.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # With a limit on bytes, Spark measures the whole batch anew after every row: more than half of what it costs to hand
    # rows to Python. A limit on rows bounds a batch as well, and payloads are small enough that so many fit into one.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
}


def prepare_session(spark: Any, max_slots: int) -> None:
    """Apply the settings; BadInput where the session cannot run a job at all."""
    if spark.conf.get("spark.speculation", "false") == "true":
        raise BadInput("spark.speculation is on: stateful streaming must not run a task twice at once; switch it off")
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.shuffle.partitions", str(max_slots))
    _check_worker_python()


def _check_worker_python() -> None:
    # Workers started with another Python fail late and obscurely: they lack pyarrow, or whimbrel itself.
    named = os.environ.get("PYSPARK_PYTHON")
    found = shutil.which(named or "python3")
    if found is None or Path(found).resolve() == Path(sys.executable).resolve() or named:
        return
    if Path(found).parent != Path(sys.executable).parent:
        raise BadInput(
            f"Spark would start its workers with {found}, and this is {sys.executable}: set PYSPARK_PYTHON to the latter "
            "before the Spark session is created"
        )
