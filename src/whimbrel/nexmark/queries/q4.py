"""Average closing price per category: auctions close in one operator, averages run in the next."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.closings import closings
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

TABLES = {"sums": ("category bigint", "auctions bigint, total bigint")}


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """(category, average, auctions), once per closed auction."""
    closed = closings(job, streams, settings, "q4-closings").where("category IS NOT NULL")
    schema = "category bigint, average double, auctions bigint"
    return job.unary(closed, "category", average, schema, tables=TABLES, name="q4")


def average(context: BinsContext) -> pa.RecordBatch | None:
    """The running average after each closing, in the order of closing."""
    closed = context.rows.sort_by([("category", "ascending"), ("expires", "ascending"), ("id", "ascending")])
    if not closed.num_rows:
        return None
    category, first, counts = np.unique(closed.column("category").to_numpy(), return_index=True, return_counts=True)
    group = np.repeat(np.arange(len(category)), counts)
    sums, keys = context.table("sums"), pa.table({"category": category})
    before = {name: _numbers(sums.get(keys), name) for name in ("auctions", "total")}
    final = closed.column("final").to_numpy()
    running = np.cumsum(final)
    total = before["total"][group] + running - (running[first] - final[first])[group]
    auctions = before["auctions"][group] + np.arange(len(group)) - first[group] + 1
    last = first + counts - 1
    sums.put(pa.table({"category": category, "auctions": auctions[last], "total": total[last]}))
    return pa.record_batch(
        {"category": category[group], "average": total / auctions, "auctions": auctions},
    )


def _numbers(rows: pa.RecordBatch, name: str) -> np.ndarray:
    return rows.column(name).fill_null(0).to_numpy()
