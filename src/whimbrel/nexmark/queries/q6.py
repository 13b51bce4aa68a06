"""Average of each seller's last ten closing prices: the closings of q4, another second operator."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.closings import closings
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

LAST = 10
TABLES = {"lasts": ("seller bigint", "auctions bigint, prices array<bigint>")}
OUTPUT = pa.schema([("seller", pa.int64()), ("average", pa.float64()), ("auctions", pa.int64())])


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """(seller, average, auctions), once per closed auction."""
    closed = closings(job, streams, settings, "q6-closings").where("seller IS NOT NULL")
    schema = "seller bigint, average double, auctions bigint"
    return job.unary(closed, "seller", average, schema, tables=TABLES, name="q6")


def average(context: BinsContext) -> pa.RecordBatch | None:
    """The average of the last ten after each closing, in the order of closing."""
    closed = context.rows.sort_by([("expires", "ascending"), ("id", "ascending")])
    if not closed.num_rows:
        return None
    lasts, sellers = context.table("lasts"), closed.column("seller").unique()
    known = lasts.get(pa.table({"seller": sellers})).to_pylist()
    state = {s: (k["auctions"] or 0, k["prices"] or []) for s, k in zip(sellers.to_pylist(), known, strict=True)}
    out = []
    for seller, final in zip(closed.column("seller").to_pylist(), closed.column("final").to_pylist(), strict=True):
        auctions, prices = state[seller]
        state[seller] = auctions + 1, [*prices, final][-LAST:]
        out.append((seller, sum(state[seller][1]) / len(state[seller][1]), auctions + 1))
    counts, prices = zip(*state.values(), strict=True)
    lists = pa.array(prices, pa.list_(pa.int64()))
    lasts.put(pa.table({"seller": sellers, "auctions": pa.array(counts, pa.int64()), "prices": lists}))
    return pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*out, strict=True)], schema=OUTPUT)
