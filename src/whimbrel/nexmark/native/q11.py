"""User sessions, as Spark has them built in."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """(bidder, bids, session_start, session_end); the window is the gap that ends a session."""
    bids = streams.bid.where("bidder IS NOT NULL").withWatermark("dateTime", settings.delay)
    session = sf.session_window("dateTime", settings.window).alias("session")
    sessions = bids.groupBy("bidder", session).agg(sf.count("*").alias("bids"))
    edges = (sf.col("session.start").alias("session_start"), sf.col("session.end").alias("session_end"))
    return sessions.select("bidder", "bids", *edges)
