"""New sellers: a windowed semi-join, each side kept until its window closes.

Spark allows one event-time column a stream, and the window is one: the instant passes as a plain value.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.events.schema import PERSON
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams

_FIELDS = PERSON.names


def query(streams: Streams, settings: Settings) -> DataFrame:
    """People who opened an auction in the window in which they registered."""
    timed = streams.watermarked(settings.delay)
    plain = [sf.timestamp_micros(sf.unix_micros(each)).alias(each) if each == "dateTime" else each for each in _FIELDS]
    people = timed.person.select(sf.window("dateTime", settings.window).alias("w"), *plain)
    sellers = timed.auction.select("seller", sf.window("dateTime", settings.window).alias("v"))
    match = (people.id == sellers.seller) & (people.w == sellers.v)
    return people.join(sellers, match, "left_semi").drop("w")
