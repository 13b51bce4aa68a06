"""Bidding statistics: how many bids, and how many different bidders and auctions, at each level of price.

Distinct counts are exact. Bidders and auctions lie in bins of their own, so the sets that make a distinct count are
spread over all slots; when a window closes every slot sends its counts, and a second operator adds them up.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.levels import LEVELS
from whimbrel.nexmark.queries.q0 import NO_STATE
from whimbrel.nexmark.queries.shapes import narrowed, shaped
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job
from whimbrel.runtime.operator import Rows, Side
from whimbrel.runtime.operators.per_bin import BinsContext, PerBin
from whimbrel.runtime.operators.table_view import TableView

RANKS = ("unpriced", *LEVELS)
WHO = ("bidder", "auction")
COUNTS = [f"{level}_{what}" for what in ("bids", "bidders", "auctions") for level in ("total", *RANKS[1:])]
SEEN = narrowed("bid", "id", "opens", *RANKS, "dateTime")
PARTS = pa.schema([(name, pa.int64()) for name in ("opens", *COUNTS)])
OUTPUT = "window_start timestamp, window_end timestamp, " + ", ".join(f"{name} bigint" for name in COUNTS)
_KEY = pa.schema([("id", pa.int64()), ("opens", pa.int64())])
_VALUES = pa.schema([(name, pa.int64()) for name in (*RANKS, "closes")])


class Members(PerBin):
    """The operator with its map side: a chunk sends one row per member and window."""

    def prepare(self, side: int, rows: Rows) -> Rows:
        """The chunk's bids, summed per member and window."""
        numbered = pa.table(rows.batch).append_column("row", pa.array(np.arange(rows.batch.num_rows)))
        latest = [("dateTime", "max"), ("row", "min")]
        sums = numbered.group_by(["id", "opens"], use_threads=False).aggregate([(r, "sum") for r in RANKS] + latest)
        batch = sums.rename_columns(["id", "opens", *RANKS, "dateTime", "row"]).combine_chunks().to_batches()[0]
        return Rows(batch.select(SEEN.names), rows.hashes.take(batch.column("row").to_numpy()))


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """Counts of bids, of bidders and of auctions, in total and for each of three levels of price, per window."""
    size = settings.window_ms * 1000
    opens = f"unix_micros(dateTime) - pmod(unix_micros(dateTime), {size}) AS opens"
    bids = streams.bid.where("dateTime IS NOT NULL")
    unpriced = "CASE WHEN price IS NULL THEN 1 ELSE 0 END AS unpriced"
    sides = [Side(("id",), tuple(SEEN.names), "dateTime") for _ in WHO]
    inputs = [bids.selectExpr(f"{who} AS id", opens, unpriced, *LEVELS.values(), "dateTime") for who in WHO]
    tables = dict.fromkeys(WHO, (_KEY, _VALUES))
    members = Members("q15-members", sides, partial(count, size=size), PARTS, tables, delay=settings.delay)
    parts = job.install(members, *inputs)
    return job.unary(parts, "opens", partial(add_up, size=size), OUTPUT, tables=NO_STATE, name="q15")


def count(context: BinsContext, size: int) -> list[pa.Table]:
    """Closes the windows that the watermark has passed, then adds the bids of windows that are still open."""
    watermark, out = context.watermark_ms * 1000, []
    for who, rows in zip(WHO, context.sides, strict=True):
        table = context.table(who)
        closed = table.below("closes", watermark + 1)
        table.delete(closed)
        out.append(_parts(who, closed))
        seen = shaped(rows, SEEN)
        _remember(table, seen.filter(pc.greater(seen.column("opens"), watermark - size)), size)
    return out


def _remember(table: TableView, seen: pa.RecordBatch, size: int) -> None:
    if not seen.num_rows:
        return
    sums = pa.table(seen).group_by(["id", "opens"], use_threads=False).aggregate([(rank, "sum") for rank in RANKS])
    sums = sums.rename_columns(["id", "opens", *RANKS])
    old = table.get(sums)
    for rank in RANKS:
        total = pc.add(sums.column(rank).combine_chunks(), old.column(rank).fill_null(0))
        sums = sums.set_column(sums.schema.get_field_index(rank), rank, total)
    table.put(sums.append_column("closes", pc.add(sums.column("opens"), size)))


def _parts(who: str, closed: pa.RecordBatch) -> pa.Table:
    """This slot's counts of the closed windows; bids are counted where their bidders are."""
    opens, group = np.unique(closed.column("opens").to_numpy(), return_inverse=True)
    levels = np.stack([closed.column(rank).to_numpy() for rank in RANKS])
    named = closed.column("id").is_valid().to_numpy(zero_copy_only=False)
    total = levels.sum(axis=0)
    found: dict[str, np.ndarray] = {}
    for level, values in (("total", total), *zip(RANKS[1:], levels[1:], strict=True)):
        found[f"{level}_{who}s"] = np.bincount(group[named & (values > 0)], minlength=len(opens))
        if who == "bidder":
            found[f"{level}_bids"] = np.bincount(group, weights=values, minlength=len(opens))
    nothing = np.zeros(len(opens), np.int64)
    columns = [found.get(name, nothing).astype(np.int64) for name in COUNTS]
    return pa.table([opens, *columns], schema=PARTS)


def add_up(context: BinsContext, size: int) -> pa.Table | None:
    """The slots' counts of a window as one row: all slots close it in the same epoch, so nothing need be kept."""
    if not context.rows.num_rows:
        return None
    sums = pa.table(context.rows).group_by("opens", use_threads=False).aggregate([(name, "sum") for name in COUNTS])
    sums = sums.rename_columns(["opens", *COUNTS])
    instants = pa.timestamp("us", tz="UTC")
    starts, ends = sums.column("opens").cast(instants), pc.add(sums.column("opens"), size).cast(instants)
    return sums.append_column("window_start", starts).append_column("window_end", ends)
