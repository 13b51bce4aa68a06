"""Counting rows per key in every way that PySpark offers, and with Whimbrel. One function per system.

Each takes the stream of keys and gives (result, final counts): the streaming result to write, and a function
that reads the final count of every key back out of the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Counts = Callable[["SparkSession", str], dict[Any, int]]
_PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = f"{_PROVIDERS}.RocksDBStateStoreProvider"
HDFS = f"{_PROVIDERS}.HDFSBackedStateStoreProvider"

_ARROW = ("spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.execution.arrow.maxBytesPerBatch")


def use_provider(spark: SparkSession, provider: str, slots: int) -> None:
    """Session settings of a native peer: its provider, as many partitions as Whimbrel has slots, Spark's defaults else."""
    for name in _ARROW:
        spark.conf.unset(name)
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2" if provider == ROCKSDB else "1")
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    spark.conf.set("spark.sql.shuffle.partitions", str(slots))


def use_job_settings(spark: SparkSession, slots: int) -> None:
    """The session settings of a Whimbrel job, for a peer that shall be given the same."""
    from whimbrel.runtime.session import prepare_session

    prepare_session(spark, slots)


def native(keys: DataFrame) -> DataFrame:
    """Spark's own JVM operator."""
    return keys.groupBy("key").count()


def native_counts(spark: SparkSession, checkpoint: str) -> dict[Any, int]:
    """The final counts of ``native``, through the state data source."""
    return _counts(spark.read.format("statestore").load(checkpoint).selectExpr("key.key", "value.count"))


def _counts(rows: DataFrame) -> dict[Any, int]:
    return dict(rows.toPandas().itertuples(index=False, name=None))


def identity(keys: DataFrame) -> DataFrame:
    """The ceiling of any Python operator: rows through ``mapInArrow`` and out again."""
    return keys.mapInArrow(_same, keys.schema)


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def apply_in_pandas(keys: DataFrame) -> DataFrame:
    """The older Python state API."""
    schema = f"key {keys.schema['key'].dataType.simpleString()}, n long"
    return keys.groupBy("key").applyInPandasWithState(_add, schema, "n long", "update", "NoTimeout")


def apply_in_pandas_counts(spark: SparkSession, checkpoint: str) -> dict[Any, int]:
    """The final counts of ``apply_in_pandas``, through the state data source."""
    return _counts(spark.read.format("statestore").load(checkpoint).selectExpr("key.key", "value.groupState.n"))


def _add(key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    total = (state.get[0] if state.exists else 0) + sum(len(frame) for frame in frames)
    state.update((total,))
    yield pd.DataFrame({"key": [key[0]], "n": [total]})


def transform_with_state(keys: DataFrame) -> DataFrame:
    """The newer Python state API, a call per key."""
    from whimbrel.bench.counting_processor import Counting

    schema = f"key {keys.schema['key'].dataType.simpleString()}, n long"
    return keys.groupBy("key").transformWithStateInPandas(Counting(), schema, "update", "None")


def transform_with_state_counts(spark: SparkSession, checkpoint: str) -> dict[Any, int]:
    """The final counts of ``transform_with_state``, through the state data source."""
    rows = spark.read.format("statestore").option("stateVarName", "n").load(checkpoint)
    return _counts(rows.selectExpr("key.key", "value.n"))
