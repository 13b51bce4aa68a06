"""Calculation: bids of a range of prices, converted, with the time of day and the number of c's in their padding."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.q0 import NO_STATE
from whimbrel.nexmark.queries.q1 import EUROS_PER_DOLLAR, convert
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

OUTPUT = (
    "auction bigint, bidder bigint, price double, bid_time_type string, dateTime timestamp, extra string, "
    "c_counts bigint"
)


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """(auction, bidder, price, bid_time_type, dateTime, extra, c_counts) of bids between 1 and 50 million euros."""
    price = f"price * {EUROS_PER_DOLLAR}"
    bids = streams.bid.where(f"{price} > 1000000 AND {price} < 50000000")
    return job.unary(bids, "auction", calculate, OUTPUT, tables=NO_STATE, name="q14")


def calculate(context: BinsContext) -> pa.RecordBatch | None:
    """The bids with their price in euros, their time of day and their count."""
    if not context.rows.num_rows:
        return None
    bids = convert(context)
    counts = pc.count_substring(bids.column("extra"), "c").cast(pa.int64())
    return bids.append_column("bid_time_type", time_of_day(bids.column("dateTime"))).append_column("c_counts", counts)


def time_of_day(times: pa.Array) -> pa.Array:
    """Day from 8 to 18 o'clock (UTC), night until 6 and from 20, and what is between."""
    hour = pc.fill_null(pc.hour(times), 7).to_numpy()
    day, night = (hour >= 8) & (hour <= 18), (hour <= 6) | (hour >= 20)
    return pa.array(np.select([day, night], ["dayTime", "nightTime"], "otherTime"))
