"""Every bid, routed and passed on: what the path through the slots costs."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams, declared
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

NO_STATE = {"none": ("auction bigint", "nothing boolean")}
"""An operator has at least one table; this one stays empty."""


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """All bids."""
    return job.unary(streams.bid, "auction", pass_on, declared("bid"), tables=NO_STATE, name="q0")


def pass_on(context: BinsContext) -> pa.RecordBatch:
    """The rows as they came."""
    return context.rows
