"""Auction statistics: a windowed aggregation as every Spark user writes it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.native.levels import LEVELS
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """Counts by level of price, and the least, greatest, mean and total price, per auction and window."""
    bids = streams.bid.where("auction IS NOT NULL").withWatermark("dateTime", settings.delay)
    found = [sf.count_if(sf.expr(level)).alias(f"{name}_bids") for name, level in LEVELS.items()]
    for name, of in {"min": sf.min, "max": sf.max, "avg": sf.avg, "sum": sf.sum}.items():
        found.append(of("price").alias(f"{name}_price"))
    statistics = bids.groupBy(sf.window("dateTime", settings.window), "auction").agg(*found)
    edges = (sf.col("window.start").alias("window_start"), sf.col("window.end").alias("window_end"))
    return statistics.select(*edges, *statistics.columns[1:])
