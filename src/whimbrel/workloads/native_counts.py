"""Counts clicks with Spark's own stateful aggregation: what the live counts are compared with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from whimbrel.workloads.clicks import click_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def start_native_counts(spark: SparkSession, directory: Path, rows_per_epoch: int) -> Any:
    """A running query that writes ``page`` and ``n`` of every page that an epoch changed to nowhere."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDER)
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    counts = click_stream(spark, rows_per_epoch).groupBy("page").agg(F.count("*").alias("n"))
    writer = counts.writeStream.format("noop").outputMode("update").trigger(processingTime="500 milliseconds")
    return writer.option("checkpointLocation", str(directory / "checkpoint")).start()
