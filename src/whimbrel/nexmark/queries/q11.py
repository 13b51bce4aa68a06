"""User sessions: how many bids a person makes before pausing, with the ready-made session windows."""

from __future__ import annotations

from pyspark.sql import DataFrame

import whimbrel as wb
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """(bidder, bids, session_start, session_end); the window is the gap that ends a session."""
    sessions = job.sessions(
        streams.bid.where("bidder IS NOT NULL"),
        "bidder",
        time="dateTime",
        gap=settings.window,
        watermark=settings.delay,
        name="q11",
        bids=wb.count(),
    )
    return sessions.selectExpr("bidder", "bids", "window.start AS session_start", "window.end AS session_end")
