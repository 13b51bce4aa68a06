"""Closed auctions with their prices: the part that q4 and q6 share.

An auction keeps its best valid bid and is post-dated to its own end: it closes in event time, with no bid
arriving. Bids that come before their auction wait for it; bids for an auction that has closed are dropped.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from whimbrel.nexmark.events.schema import FAR_MS
from whimbrel.nexmark.queries.shapes import narrowed, shaped
from whimbrel.nexmark.queries.waiting import append_lists, claim_lists
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext
from whimbrel.runtime.operators.table_view import TableView

TABLES = {
    "open": ("id bigint", "seller bigint, category bigint, reserve bigint, expires bigint, best bigint"),
    "early": ("id bigint", "price array<bigint>, at array<bigint>"),
    "closed": ("id bigint", "expires bigint"),
}
AUCTIONS = pa.schema([(name, pa.int64()) for name in ("id", "seller", "category", "reserve", "expires", "dateTime")])
BIDS = narrowed("bid", "id", "price", "at", "dateTime")
OUTPUT = "id bigint, seller bigint, category bigint, expires bigint, final bigint"
_NONE = -(1 << 63)
"""No valid bid yet: less than any price."""


def closings(job: Job, streams: Streams, settings: Settings, name: str) -> DataFrame:
    """(id, seller, category, expires, final) of every auction that found a price, once it has closed."""
    reserve = f"{_NONE + 1}L" if settings.ignore_reserve else "reserve"
    auctions = streams.auction.where("id IS NOT NULL").selectExpr(
        "id", "seller", "category", f"{reserve} AS reserve", "unix_micros(expires) AS expires", "dateTime"
    )
    bids = streams.bid.where("auction IS NOT NULL").selectExpr(
        "auction AS id", "price", "unix_micros(dateTime) AS at", "dateTime"
    )
    return job.binary(
        auctions,
        bids,
        "id",
        "id",
        close,
        OUTPUT,
        tables=TABLES,
        schedules="id bigint",
        left_time="dateTime",
        right_time="dateTime",
        watermark=settings.delay,
        name=name,
    )


def close(context: BinsContext) -> pa.RecordBatch:
    """First what has come due, then the new auctions, then the bids."""
    out = _close_due(context)
    _open(context, shaped(context.rows, AUCTIONS).drop_columns(["dateTime"]))
    bids = shaped(context.others, BIDS).drop_columns(["dateTime"])
    _offer(context, bids.filter(pc.and_(pc.is_valid(bids.column("price")), pc.is_valid(bids.column("at")))))
    return out


def _close_due(context: BinsContext) -> pa.RecordBatch:
    auctions = context.table("open")
    places = auctions.find(context.due) if context.due.num_rows else np.zeros(0, np.int64)
    rows = auctions.read(places[places >= 0])
    auctions.delete(rows)
    context.table("closed").put(rows)
    sold = rows.filter(pc.not_equal(rows.column("best"), _NONE))
    return sold.rename_columns({"best": "final"}).drop_columns(["reserve"])


def _open(context: BinsContext, auctions: pa.RecordBatch) -> None:
    """Keeps what can still close, and schedules its end; remembers the rest as closed."""
    on_time = pc.greater(auctions.column("expires"), context.watermark_ms * 1000)
    hopeful = pc.fill_null(pc.and_kleene(on_time, pc.is_valid(auctions.column("reserve"))), False)
    lost, auctions = auctions.filter(pc.invert(hopeful)), auctions.filter(hopeful)
    context.table("closed").put(lost)
    claim_lists(context.table("early"), lost, ["price", "at"])
    if not auctions.num_rows:
        return
    rows, early = claim_lists(context.table("early"), auctions, ["price", "at"])
    best = _best(auctions.take(pa.array(rows)), early, rows, np.full(auctions.num_rows, _NONE))
    context.table("open").put(auctions.append_column("best", pa.array(best)))
    ends_ms = -(-auctions.column("expires").to_numpy() // 1000)
    context.schedule(np.minimum(ends_ms, FAR_MS) - 1, auctions.select(["id"]))


def _offer(context: BinsContext, bids: pa.RecordBatch) -> None:
    auctions = context.table("open")
    places = auctions.find(bids)
    unique, group = np.unique(places[places >= 0], return_inverse=True)
    rows = auctions.read(unique)
    old = rows.column("best").to_numpy()
    known = bids.filter(pa.array(places >= 0))
    best = _best(rows.take(pa.array(group)), known, group, old.copy())
    better = best > old
    renewed = rows.set_column(rows.schema.get_field_index("best"), "best", pa.array(best))
    auctions.put(renewed.filter(pa.array(better)))
    _keep_early(context.table("closed"), context.table("early"), bids.filter(pa.array(places < 0)))


def _best(auctions: pa.RecordBatch, bids: pa.RecordBatch, group: np.ndarray, best: np.ndarray) -> np.ndarray:
    """``best`` per group, raised by the valid bids; row i of ``auctions`` is the auction of bid i."""
    in_time = pc.less(bids.column("at"), auctions.column("expires"))
    valid = pc.and_(in_time, pc.greater_equal(bids.column("price"), auctions.column("reserve")))
    chosen = valid.to_numpy(zero_copy_only=False)
    np.maximum.at(best, group[chosen], bids.column("price").to_numpy()[chosen])
    return best


def _keep_early(closed: TableView, early: TableView, bids: pa.RecordBatch) -> None:
    append_lists(early, bids.filter(pa.array(closed.find(bids) < 0)), ["price", "at"])
