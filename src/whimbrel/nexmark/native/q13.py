"""Bids with a side input: a join with a table that does not change keeps no state."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """(auction, bidder, price, dateTime, value): the value of the auction's number modulo 10,000."""
    keys = streams.bid.sparkSession.range(10_000).withColumnRenamed("id", "key")
    side = keys.withColumn("value", sf.concat(sf.lit("value "), sf.col("key").cast("string")))
    joined = streams.bid.join(sf.broadcast(side), sf.expr("auction % 10000 = key"))
    return joined.select("auction", "bidder", "price", "dateTime", "value")
