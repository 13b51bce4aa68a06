"""Winning bids: the join of q4, then the least of an order in which the winner comes first.

A maximum by price alone would leave ties open; Spark compares structs field by field, so the order is one struct.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.events.schema import AUCTION
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """An auction's fields and those of its winning bid."""
    auctions = streams.auction.withWatermark("expires", settings.delay)
    bids = streams.bid.where("price IS NOT NULL").select(
        "auction", "bidder", "price", sf.col("dateTime").alias("bid_dateTime"), sf.col("extra").alias("bid_extra")
    )
    bids = bids.withWatermark("bid_dateTime", settings.delay)
    valid = (bids.auction == auctions.id) & (bids.bid_dateTime < auctions.expires)
    if not settings.ignore_reserve:
        valid = valid & (bids.price >= auctions.reserve)
    bid = sf.struct("auction", "bidder", "price", sf.unix_micros("bid_dateTime").alias("at"), "bid_extra")
    order = sf.struct(
        -sf.col("price"), sf.unix_micros("bid_dateTime"), sf.col("bidder").isNull(), "bidder",
        sf.col("bid_extra").isNull(), "bid_extra",
    )  # fmt: skip
    won = auctions.join(bids, valid).groupBy(*AUCTION.names).agg(sf.min_by(bid, order).alias("won"))
    instant = sf.timestamp_micros("won.at").alias("bid_dateTime")
    return won.select(*AUCTION.names, "won.auction", "won.bidder", "won.price", instant, "won.bid_extra")
