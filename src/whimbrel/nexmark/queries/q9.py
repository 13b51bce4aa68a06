"""Winning bids: every auction with the bid that won it, once it has closed. Its rows are wide and wait in event time.

The auction's record is written once and its best bid beside it, so a better bid rewrites only the bid. Of equal prices
the earliest bid wins.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from whimbrel.nexmark.events.schema import AUCTION, FAR_MS
from whimbrel.nexmark.queries.ranking import Best
from whimbrel.nexmark.queries.shapes import narrowed, shaped
from whimbrel.nexmark.queries.waiting import append_lists, claim_lists
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams, declared
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

RECORD = declared("auction").removeprefix("id bigint, ")
TABLES = {
    "open": ("id bigint", f"{RECORD}, least bigint"),
    "best": ("id bigint", "bidder bigint, price bigint, dateTime timestamp, extra string"),
    "early": ("id bigint", "bidder array<bigint>, price array<bigint>, at array<bigint>, extra array<string>"),
    "closed": ("id bigint", "expires timestamp"),
}
OFFER = ("bidder", "price", "at", "extra")
AUCTIONS = AUCTION.append(pa.field("least", pa.int64()))
BIDS = narrowed("bid", "id", *OFFER, "dateTime")
OUTPUT = f"{declared('auction')}, auction bigint, bidder bigint, price bigint, bid_dateTime timestamp, bid_extra string"
INSTANT = pa.timestamp("us", tz="UTC")
LEAST = 1 - (1 << 63)
"""No price is below it: what stands for the reserve where that does not count."""
WINNER = Best(
    group=("id",),
    order=(("price", "descending"), ("dateTime", "ascending"), ("bidder", "ascending"), ("extra", "ascending")),
    count=1,
)


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """An auction's fields and those of its winning bid."""
    least = str(LEAST) if settings.ignore_reserve else "reserve"
    auctions = streams.auction.where("id IS NOT NULL").selectExpr(*AUCTION.names, f"{least} AS least")
    bids = streams.bid.where("auction IS NOT NULL").selectExpr(
        "auction AS id", "bidder", "price", "unix_micros(dateTime) AS at", "extra", "dateTime"
    )
    return job.binary(
        auctions,
        bids,
        "id",
        "id",
        win,
        OUTPUT,
        tables=TABLES,
        schedules="id bigint",
        left_time="dateTime",
        right_time="dateTime",
        watermark=settings.delay,
        name="q9",
    )


def win(context: BinsContext) -> pa.Table:
    """First what has come due, then the new auctions, then the bids."""
    out = _close_due(context)
    early = _open(context, shaped(context.rows, AUCTIONS))
    bids = shaped(context.others, BIDS)
    bids = bids.filter(pc.and_(pc.is_valid(bids.column("price")), pc.is_valid(bids.column("at"))))
    offers = pa.concat_tables([early, pa.table(bids.select(["id", *OFFER]))])
    known = context.table("open").find(offers) >= 0
    unknown = offers.filter(pa.array(~known)).combine_chunks()
    _offer(context, offers.filter(pa.array(known)))
    missed = unknown.filter(pa.array(context.table("closed").find(unknown) < 0))
    append_lists(context.table("early"), missed, OFFER)
    return out


def _close_due(context: BinsContext) -> pa.Table:
    auctions, best = context.table("open"), context.table("best")
    places = auctions.find(context.due) if context.due.num_rows else np.zeros(0, np.int64)
    rows = pa.table(auctions.read(places[places >= 0]))
    won = best.get(rows)
    auctions.delete(rows)
    best.delete(rows)
    context.table("closed").put(rows)
    names = {"bidder": "bidder", "price": "price", "dateTime": "bid_dateTime", "extra": "bid_extra"}
    for name, column in names.items():
        rows = rows.append_column(column, won.column(name))
    return rows.append_column("auction", rows.column("id")).filter(won.column("price").is_valid())


def _open(context: BinsContext, auctions: pa.RecordBatch) -> pa.Table:
    """Keeps what can still close and schedules its end; returns the bids that came before their auction."""
    ends = auctions.column("expires").cast(INSTANT).cast(pa.int64())
    on_time = pc.greater(ends, context.watermark_ms * 1000)
    hopeful = pc.fill_null(pc.and_kleene(on_time, pc.is_valid(auctions.column("least"))), False)
    context.table("closed").put(auctions.filter(pc.invert(hopeful)))
    rows, early = claim_lists(context.table("early"), auctions, OFFER)
    offers = pa.table(early).append_column("id", auctions.column("id").take(pa.array(rows)))
    opened = auctions.filter(hopeful)
    if opened.num_rows:
        context.table("open").put(opened)
        ends_ms = -(-ends.filter(hopeful).to_numpy() // 1000)
        context.schedule(np.minimum(ends_ms, FAR_MS) - 1, opened.select(["id"]))
    return offers.select(["id", *OFFER]).cast(pa.schema([BIDS.field(name) for name in ("id", *OFFER)]))


def _offer(context: BinsContext, offers: pa.Table) -> None:
    """Raises the best bid of the auctions that these are for."""
    if not offers.num_rows:
        return
    auctions, best = context.table("open"), context.table("best")
    # Many offers are for few auctions, and an auction's row is wide: each is read once.
    places, group = np.unique(auctions.find(offers), return_inverse=True)
    terms, row = auctions.read(places), pa.array(group)
    ends, least = terms.column("expires").cast(INSTANT).cast(pa.int64()).take(row), terms.column("least").take(row)
    valid = pc.and_(pc.less(offers.column("at"), ends), pc.greater_equal(offers.column("price"), least))
    offers = offers.filter(valid)
    fresh = offers.append_column("dateTime", offers.column("at").cast(INSTANT)).drop_columns(["at"])
    ids = fresh.group_by("id", use_threads=False).aggregate([])
    places = best.find(ids)
    known = pa.table(best.read(places[places >= 0])).select(fresh.column_names)
    best.put(WINNER.ranked(pa.concat_tables([known, fresh])))
