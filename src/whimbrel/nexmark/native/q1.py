"""Every bid, its price in another currency."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """Bids with the price times 0.908."""
    return streams.bid.withColumn("price", sf.col("price").cast("double") * sf.lit(0.908))
