"""Expand bids with their auction: the ready-made join without bounds, over a filter on one side."""

from __future__ import annotations

from pyspark.sql import DataFrame

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """Bids for auctions of category 10, with the auction's fields."""
    bids = streams.bid.where("auction IS NOT NULL").selectExpr(
        "auction", "bidder", "price", "dateTime AS bid_dateTime", "extra AS bid_extra"
    )
    auctions = streams.auction.where("category = 10 AND id IS NOT NULL").selectExpr(
        "id AS auction",
        "itemName",
        "description",
        "initialBid",
        "reserve",
        "dateTime AS auction_dateTime",
        "expires",
        "seller",
        "category",
        "extra AS auction_extra",
    )
    return job.join(bids, auctions, "auction", name="q20")
