"""Find last bid: the greatest struct of time, price and padding. Nulls are least, so they lose."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """The last bid per auction, bidder and tumbling window."""
    bids = streams.bid.where("auction IS NOT NULL AND bidder IS NOT NULL").withWatermark("dateTime", settings.delay)
    last = sf.max(sf.struct(sf.unix_micros("dateTime").alias("at"), "price", "extra")).alias("last")
    found = bids.groupBy(sf.window("dateTime", settings.window), "auction", "bidder").agg(last)
    instant = sf.timestamp_micros("last.at").alias("dateTime")
    return found.select("auction", "bidder", "last.price", instant, "last.extra")
