"""The bids for a few chosen auctions."""

from __future__ import annotations

from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.q0 import NO_STATE, pass_on
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams, declared
from whimbrel.runtime.job import Job


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """Bids for every 123rd auction; the rest never reaches a slot."""
    return job.unary(
        streams.bid.where("auction % 123 = 0"), "auction", pass_on, declared("bid"), tables=NO_STATE, name="q2"
    )
