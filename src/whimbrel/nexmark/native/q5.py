"""Hot items: counts per sliding window and auction, then the top of each window.

Two aggregations in a chain. The second must gather every count of a window to find the ties.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """The auctions with most bids, per sliding window."""
    bids = streams.bid.where("auction IS NOT NULL").withWatermark("dateTime", settings.delay)
    counts = bids.groupBy(sf.window("dateTime", settings.window, settings.slide), "auction").agg(
        sf.count("*").alias("bids")
    )
    tops = counts.groupBy("window").agg(
        sf.collect_list(sf.struct("auction", "bids")).alias("all"), sf.max("bids").alias("top")
    )
    return tops.select("window", sf.inline(sf.filter("all", lambda each: each.bids == sf.col("top")))).select(
        sf.col("window.start").alias("window_start"), sf.col("window.end").alias("window_end"), "auction", "bids"
    )
