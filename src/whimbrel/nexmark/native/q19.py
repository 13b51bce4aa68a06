"""Auction top ten: Spark has no streaming top-k, so every bid of a window is collected and then cut."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """The bids of the ten highest prices per auction and tumbling window."""
    bids = streams.bid.where("auction IS NOT NULL AND price IS NOT NULL").withWatermark("dateTime", settings.delay)
    order = sf.struct(
        (-sf.col("price")).alias("down"), sf.unix_micros("dateTime").alias("at"), sf.col("bidder").isNull().alias("nobody"),
        "bidder", sf.col("extra").isNull().alias("nothing"), "extra",
    )  # fmt: skip
    found = bids.groupBy(sf.window("dateTime", settings.window), "auction").agg(sf.collect_list(order).alias("all"))
    tops = found.select("auction", sf.posexplode(sf.slice(sf.array_sort("all"), 1, 10)).alias("before", "bid"))
    price, instant = (-sf.col("bid.down")).alias("price"), sf.timestamp_micros("bid.at").alias("dateTime")
    rank = (sf.col("before") + 1).cast("long").alias("rank")
    return tops.select("auction", "bid.bidder", price, instant, "bid.extra", rank)
