"""Auction statistics: how many bids an auction got in a window and at which prices, with the ready-made aggregates."""

from __future__ import annotations

from pyspark.sql import DataFrame

import whimbrel as wb
from whimbrel.nexmark.queries.levels import LEVELS
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job

COLUMNS = ["total_bids", "rank1_bids", "rank2_bids", "rank3_bids", "min_price", "max_price", "avg_price", "sum_price"]


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """Counts by level of price, and the least, greatest, mean and total price, per auction and window."""
    statistics = job.windows(
        streams.bid.where("auction IS NOT NULL").selectExpr("auction", "price", "dateTime", *LEVELS.values()),
        "auction",
        time="dateTime",
        length=settings.window,
        watermark=settings.delay,
        name="q17",
        total_bids=wb.count(),
        **{f"{rank}_bids": wb.sum_of(rank) for rank in LEVELS},
        min_price=wb.min_of("price"),
        max_price=wb.max_of("price"),
        avg_price=wb.mean_of("price"),
        sum_price=wb.sum_of("price"),
    )
    return statistics.selectExpr("window.start AS window_start", "window.end AS window_end", "auction", *COLUMNS)
