"""Calculation: bids of a range of prices, converted, with the time of day and the number of c's in their padding."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """(auction, bidder, price, bid_time_type, dateTime, extra, c_counts) of bids between 1 and 50 million euros."""
    hour = sf.expr("pmod(unix_seconds(dateTime) DIV 3600, 24)")
    kind = sf.when(hour.between(8, 18), "dayTime").when((hour <= 6) | (hour >= 20), "nightTime").otherwise("otherTime")
    price = sf.col("price").cast("double") * sf.lit(0.908)
    counts = (sf.length("extra") - sf.length(sf.regexp_replace("extra", "c", ""))).cast("long")
    bids = streams.bid.where((price > 1_000_000) & (price < 50_000_000))
    return bids.select(
        "auction",
        "bidder",
        price.alias("price"),
        kind.alias("bid_time_type"),
        "dateTime",
        "extra",
        counts.alias("c_counts"),
    )
