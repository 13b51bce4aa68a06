"""Average of each seller's last ten closing prices.

As for q4, but with a state per seller: ``transformWithState`` pays its round trips for each of them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from whimbrel.nexmark.native.closings import closings, running_average
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """(seller, average, auctions), once per closed auction."""
    return running_average(closings(streams, settings), "seller", last=10)
