"""Every bid, as it is: what carrying the events costs."""

from __future__ import annotations

from pyspark.sql import DataFrame

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """All bids."""
    return streams.bid
