"""Auction top ten: the ten highest bids of every auction in each window, with their ranks."""

from __future__ import annotations

from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.best_rows import FIELDS, BestRows, in_windows
from whimbrel.nexmark.queries.ranking import Best
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job

TOP = Best(
    group=("auction", "opens"),
    order=(("price", "descending"), ("dateTime", "ascending"), ("bidder", "ascending"), ("extra", "ascending")),
    count=10,
)


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """The bids of the ten highest prices per auction and tumbling window."""
    size = settings.window_ms * 1000
    condition, columns = in_windows("auction IS NOT NULL AND price IS NOT NULL", size)
    top = BestRows("q19", TOP, (*FIELDS, "rank"), size, settings.delay, keys=("auction",))
    return job.install(top, streams.bid.where(condition).selectExpr(*columns))
