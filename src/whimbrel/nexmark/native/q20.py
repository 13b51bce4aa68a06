"""Expand bids with their auction: a stream-stream join without bounds. Both sides stay in the state for ever."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """Bids for auctions of category 10, with the auction's fields."""
    bids = streams.bid.withColumnsRenamed({"dateTime": "bid_dateTime", "extra": "bid_extra"})
    auctions = streams.auction.where("category = 10").withColumnsRenamed(
        {"dateTime": "auction_dateTime", "extra": "auction_extra"}
    )
    mine = ["auction", "bidder", "price", "bid_dateTime", "bid_extra"]
    theirs = ["itemName", "description", "initialBid", "reserve", "auction_dateTime", "expires", "seller", "category"]
    return bids.join(auctions, sf.col("auction") == sf.col("id")).select(*mine, *theirs, "auction_extra")
