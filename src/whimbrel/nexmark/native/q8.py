"""New sellers: a windowed semi-join, each side kept until its window closes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """People who opened an auction in the window in which they registered."""
    timed = streams.watermarked(settings.delay)
    people = timed.person.withColumn("w", sf.window("dateTime", settings.window))
    sellers = timed.auction.select("seller", sf.window("dateTime", settings.window).alias("v"))
    match = (people.id == sellers.seller) & (people.w == sellers.v)
    return people.join(sellers, match, "left_semi").drop("w")
