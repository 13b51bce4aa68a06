"""Find last bid: of every bidder's bids for an auction the last one in each window."""

from __future__ import annotations

from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.best_rows import FIELDS, BestRows, in_windows
from whimbrel.nexmark.queries.ranking import Best
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job

LAST = Best(
    group=("auction", "bidder", "opens"),
    order=(("dateTime", "descending"), ("price", "descending"), ("extra", "descending")),
    count=1,
)


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """The last bid per auction, bidder and tumbling window."""
    size = settings.window_ms * 1000
    condition, columns = in_windows("auction IS NOT NULL AND bidder IS NOT NULL", size)
    last = BestRows("q18", LAST, FIELDS, size, settings.delay, keys=("auction", "bidder"))
    return job.install(last, streams.bid.where(condition).selectExpr(*columns))
