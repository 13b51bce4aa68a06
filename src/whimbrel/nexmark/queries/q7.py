"""Highest bid per tumbling window, ties included.

The router drops what cannot win before it crosses the shuffle, so a window's slot sees a handful of bids.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from whimbrel.nexmark.events.schema import BID
from whimbrel.nexmark.queries.shapes import narrowed, shaped
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job
from whimbrel.runtime.operator import Rows, Side
from whimbrel.runtime.operators.per_bin import BinsContext, PerBin

FIELDS = tuple(BID.names)
BIDS = narrowed("bid", "opens", *FIELDS)
KEY = pa.schema([("opens", pa.int64()), ("number", pa.int64())])
TABLES = {"tops": (KEY, BID.append(pa.field("closes", pa.int64())))}


class HighestBids(PerBin):
    """The operator with its map side: a chunk's bids below the chunk's top are dropped."""

    def prepare(self, side: int, rows: Rows) -> Rows:
        """The chunk's highest bids per window."""
        tops = np.flatnonzero(are_tops(rows.batch))
        return Rows(rows.batch.take(pa.array(tops)), rows.hashes.take(tops))


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """The bids of the highest price in each tumbling window."""
    size = settings.window_ms * 1000
    bids = streams.bid.where("price IS NOT NULL AND dateTime IS NOT NULL")
    bids = bids.selectExpr(f"unix_micros(dateTime) - pmod(unix_micros(dateTime), {size}) AS opens", *FIELDS)
    side = Side(("opens",), ("opens", *FIELDS), "dateTime")
    step = partial(highest, size=size)
    return job.install(HighestBids("q7", [side], step, BID, TABLES, delay=settings.delay), bids)


def are_tops(bids: pa.RecordBatch) -> np.ndarray:
    """Which bids have the highest price of their window."""
    windows, group = np.unique(bids.column("opens").to_numpy(), return_inverse=True)
    price = bids.column("price").to_numpy()
    most = np.full(len(windows), np.iinfo(np.int64).min)
    np.maximum.at(most, group, price)
    return np.asarray(price == most[group])


def highest(context: BinsContext, size: int) -> pa.RecordBatch:
    """Gives out the tops of windows that have closed, and keeps those of windows that are open."""
    watermark = context.watermark_ms * 1000
    tops = context.table("tops")
    closed = tops.below("closes", watermark + 1)
    tops.delete(closed)
    bids = shaped(context.rows, BIDS)
    bids = bids.filter(pc.greater(bids.column("opens"), watermark - size))
    bids = bids.filter(pa.array(are_tops(bids)))
    if bids.num_rows:
        number = pa.array(context.epoch * (1 << 32) + np.arange(bids.num_rows))
        closes = pc.add(bids.column("opens"), size)
        tops.put(bids.append_column("number", number).append_column("closes", closes))
    return closed.filter(pa.array(are_tops(closed))).select(list(FIELDS))
