"""The best rows of each group and window: what "last row per key" and "top ten" have in common.

The router drops what cannot be among the best of its chunk, a slot keeps the best of each group by rank, and a window
gives its rows out when it closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.nexmark.events.schema import BID
from whimbrel.nexmark.queries.ranking import Best
from whimbrel.nexmark.queries.shapes import narrowed, shaped
from whimbrel.runtime.operator import Rows, Side
from whimbrel.runtime.operators.per_bin import BinsContext, PerBin

FIELDS = tuple(BID.names)
BIDS = narrowed("bid", "opens", *FIELDS)


class BestRows(PerBin):
    """The operator over bids with the column ``opens``, the start of their window."""

    def __init__(
        self, name: str, best: Best, output: Sequence[str], size: int, delay: str, keys: tuple[str, ...]
    ) -> None:
        number = pa.field("rank", pa.int64())
        key = pa.schema([BIDS.field(each) for each in best.group] + [number])
        values = [field for field in BIDS if field.name not in best.group]
        tables = {"best": (key, pa.schema([*values, pa.field("closes", pa.int64())]))}
        side = Side(keys, tuple(BIDS.names), "dateTime")
        schema = pa.schema([number if each == "rank" else BID.field(each) for each in output])
        super().__init__(name, [side], partial(keep_best, best=best, size=size), schema, tables, delay=delay)
        self._best = best

    def prepare(self, side: int, rows: Rows) -> Rows:
        """The best of a chunk."""
        numbered = pa.table(rows.batch).append_column("row", pa.array(np.arange(rows.batch.num_rows)))
        kept = np.sort(self._best.ranked(numbered).column("row").to_numpy())
        return Rows(rows.batch.take(pa.array(kept)), rows.hashes.take(kept))


def keep_best(context: BinsContext, best: Best, size: int) -> pa.Table:
    """Gives out windows that have closed, and ranks the bids of open ones among those that are known."""
    watermark, table = context.watermark_ms * 1000, context.table("best")
    closed = table.below("closes", watermark + 1)
    table.delete(closed)
    bids = shaped(context.rows, BIDS)
    bids = bids.filter(pc.greater(bids.column("opens"), watermark - size))
    if bids.num_rows:
        fresh = pa.table(bids).append_column("was", pa.array(np.full(bids.num_rows, -1)))
        known = _known(table, fresh, best)
        ranked = best.ranked(pa.concat_tables([known.select(fresh.column_names), fresh]))
        moved = ranked.filter(pc.not_equal(ranked.column("rank"), ranked.column("was")))
        table.put(moved.append_column("closes", pc.add(moved.column("opens"), size)))
    return pa.table(closed).set_column(closed.schema.get_field_index("rank"), "rank", pc.add(closed.column("rank"), 1))


def _known(table: Any, fresh: pa.Table, best: Best) -> pa.Table:
    """The rows that these groups have already, with the rank that they ``was``."""
    groups = fresh.group_by(list(best.group), use_threads=False).aggregate([])
    repeated = groups.take(pa.array(np.repeat(np.arange(groups.num_rows), best.count)))
    ranks = pa.array(np.tile(np.arange(best.count), groups.num_rows))
    places = table.find(repeated.append_column("rank", ranks))
    rows = pa.table(table.read(places[places >= 0]))
    return rows.append_column("was", rows.column("rank"))


def in_windows(condition: str, size: int) -> tuple[str, list[str]]:
    """The filter and the columns of bids that have a window of this size in microseconds."""
    opens = f"unix_micros(dateTime) - pmod(unix_micros(dateTime), {size}) AS opens"
    return f"{condition} AND dateTime IS NOT NULL", [opens, *FIELDS]
