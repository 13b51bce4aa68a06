"""Bids with a side input: a bounded table travels with the operator, so there is nothing to move."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.q0 import NO_STATE
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams, declared
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

SIDE_ROWS = 10_000


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """(auction, bidder, price, dateTime, value): the value of the auction's number modulo 10,000."""
    step = partial(look_up, values=pa.array([f"value {key}" for key in range(SIDE_ROWS)]))
    schema = declared("bid").replace("extra string", "value string")
    return job.unary(streams.bid, "auction", step, schema, tables=NO_STATE, name="q13")


def look_up(context: BinsContext, values: pa.Array) -> pa.Table | None:
    """The bids whose key is in the table, with its value."""
    if not context.rows.num_rows:
        return None
    bids = context.rows.filter(context.rows.column("auction").is_valid())
    keys = np.fmod(bids.column("auction").to_numpy(), SIDE_ROWS)
    known = keys >= 0
    found = pa.table(bids.filter(pa.array(known)))
    return found.append_column("value", values.take(pa.array(keys[known])))
