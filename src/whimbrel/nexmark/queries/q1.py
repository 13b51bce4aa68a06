"""Every bid, its price in another currency."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.q0 import NO_STATE
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams, declared
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

EUROS_PER_DOLLAR = 0.908


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """Bids with the price times 0.908."""
    return job.unary(streams.bid, "auction", convert, declared("bid", price="double"), tables=NO_STATE, name="q1")


def convert(context: BinsContext) -> pa.RecordBatch:
    """The rows with a converted price."""
    bids = context.rows
    price = pc.multiply(bids.column("price").cast(pa.float64()), EUROS_PER_DOLLAR)
    return bids.set_column(bids.schema.get_field_index("price"), "price", price)
