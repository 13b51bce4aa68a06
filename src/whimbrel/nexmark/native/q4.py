"""Average closing price per category.

Three stateful operators in a chain. A second aggregation cannot follow in append mode without a window, so the
running average is a ``transformWithState``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from whimbrel.nexmark.native.closings import closings, running_average
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """(category, average, auctions), once per closed auction."""
    return running_average(closings(streams, settings), "category", last=None)
