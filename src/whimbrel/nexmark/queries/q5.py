"""Hot items: bids per auction and pane, summed when a sliding window closes, and the top of each window.

A pane is the greatest common divisor of window and slide, so that every window is made of whole panes and a bid is
counted once, not once per window. Each pane remembers which of its windows closes next.
"""

from __future__ import annotations

from functools import partial
from math import gcd

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.q0 import NO_STATE
from whimbrel.nexmark.queries.shapes import narrowed, shaped
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

TABLES = {"panes": ("auction bigint, pane bigint", "bids bigint, closes bigint")}
BIDS = narrowed("bid", "auction", "pane", "dateTime")
OUTPUT = "window_start timestamp, window_end timestamp, auction bigint, bids bigint"
Integers = npt.NDArray[np.int64]


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """The auctions with most bids, per sliding window."""
    size, slide = settings.window_ms * 1000, settings.slide_ms * 1000
    pane = gcd(size, slide)
    bids = streams.bid.where("auction IS NOT NULL AND dateTime IS NOT NULL").selectExpr(
        "auction", f"unix_micros(dateTime) - pmod(unix_micros(dateTime), {pane}) AS pane", "dateTime"
    )
    step = partial(count, size=size, slide=slide)
    schema = "opens bigint, auction bigint, bids bigint"
    counts = job.unary(
        bids, "auction", step, schema, tables=TABLES, time="dateTime", watermark=settings.delay, name="q5-counts"
    )
    return job.unary(counts, "opens", partial(top, size=size), OUTPUT, tables=NO_STATE, name="q5")


def count(context: BinsContext, size: int, slide: int) -> pa.RecordBatch:
    """Closes the windows that the watermark has passed, then counts the bids of windows that are still open."""
    watermark = context.watermark_ms * 1000
    closed = _close(context, watermark, size, slide)
    bids = shaped(context.rows, BIDS)
    bids = bids.filter(pc.greater(_last_window(bids, slide), watermark - size))
    fresh = pa.table(bids).group_by(["auction", "pane"], use_threads=False).aggregate([([], "count_all")])
    panes = context.table("panes")
    old = panes.get(fresh)
    bids_so_far = pc.add(fresh.column("count_all").combine_chunks(), old.column("bids").fill_null(0))
    pane = fresh.column("pane").to_numpy()
    closes = np.maximum((pane - size) // slide, (watermark - size) // slide) * slide + slide + size
    panes.put(
        pa.table(
            {
                "auction": fresh.column("auction"),
                "pane": fresh.column("pane"),
                "bids": bids_so_far,
                "closes": pc.coalesce(old.column("closes"), pa.array(closes)),
            }
        )
    )
    return closed


def _last_window(bids: pa.RecordBatch, slide: int) -> pa.Array:
    pane = bids.column("pane").to_numpy()
    return pa.array(pane - pane % slide)


def _close(context: BinsContext, watermark: int, size: int, slide: int) -> pa.RecordBatch:
    """The slot's top auctions of every closed window; panes go on to their next window, or away."""
    panes = context.table("panes")
    rows = panes.below("closes", watermark + 1)
    pane, opens = rows.column("pane").to_numpy(), rows.column("closes").to_numpy() - size
    last = pane - pane % slide
    until = np.minimum(last, (watermark - size) // slide * slide)
    moved = rows.set_column(rows.schema.get_field_index("closes"), "closes", pa.array(until + slide + size))
    panes.put(moved.filter(pa.array(until < last)))
    panes.delete(rows.filter(pa.array(until == last)))
    return _tops(_in_windows(rows, opens, (until - opens) // slide + 1, slide))


def _in_windows(rows: pa.RecordBatch, opens: Integers, windows: Integers, slide: int) -> pa.Table:
    """Bids per (window, auction), each pane counted in each of its windows."""
    row = np.repeat(np.arange(len(opens)), windows)
    within = np.arange(len(row)) - np.repeat(np.cumsum(windows) - windows, windows)
    placed = pa.table(
        {
            "opens": opens[row] + within * slide,
            "auction": rows.column("auction").take(pa.array(row)),
            "bids": rows.column("bids").take(pa.array(row)),
        }
    )
    sums = placed.group_by(["opens", "auction"], use_threads=False).aggregate([("bids", "sum")])
    return sums.rename_columns(["opens", "auction", "bids"])


def _tops(counts: pa.Table) -> pa.RecordBatch:
    """The rows of most bids in their window, ties included."""
    opens, bids = counts.column("opens").to_numpy(), counts.column("bids").to_numpy()
    windows, group = np.unique(opens, return_inverse=True)
    most = np.zeros(len(windows), np.int64)
    np.maximum.at(most, group, bids)
    chosen = counts.filter(pa.array(bids == most[group])).combine_chunks()
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in chosen.columns], names=chosen.schema.names)


def top(context: BinsContext, size: int) -> pa.RecordBatch | None:
    """Of the slots' tops the highest: all slots close a window in the same epoch, so nothing need be kept."""
    if not context.rows.num_rows:
        return None
    tops = _tops(pa.table(context.rows))
    opens = tops.column("opens")
    instants = pa.timestamp("us", tz="UTC")
    return pa.record_batch(
        {
            "window_start": opens.cast(instants),
            "window_end": pc.add(opens, size).cast(instants),
            "auction": tops.column("auction"),
            "bids": tops.column("bids"),
        }
    )
