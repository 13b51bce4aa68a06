"""Bidding statistics. Streams have no distinct counts, so the sets themselves are collected and then measured."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.native.levels import LEVELS
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """Counts of bids, of bidders and of auctions, in total and for each of three levels of price, per window."""
    bids = streams.bid.withWatermark("dateTime", settings.delay)
    found = [sf.count_if(sf.expr(level)).alias(f"{name}_bids") for name, level in LEVELS.items()]
    for who in ("bidder", "auction"):
        for name, level in LEVELS.items():
            members = sf.collect_set(sf.when(sf.expr(level), sf.col(who)))
            found.append(sf.size(members).cast("long").alias(f"{name}_{who}s"))
    counts = bids.groupBy(sf.window("dateTime", settings.window)).agg(*found)
    edges = (sf.col("window.start").alias("window_start"), sf.col("window.end").alias("window_end"))
    return counts.select(*edges, *counts.columns[1:])
