"""The bids for a few chosen auctions."""

from __future__ import annotations

from pyspark.sql import DataFrame

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """Bids for every 123rd auction."""
    return streams.bid.where("auction % 123 = 0")
