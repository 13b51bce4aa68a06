"""Aggregates over tumbling and sliding windows of event time.

A row of the state is a (key, window) and lies in the bin of its key. The router combines by pane, the greatest span
that no window cuts; the host spreads panes over windows. A window is final, and leaves, once its end is at or before
the watermark; what then still comes for it is late, is dropped and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.runtime.operator import Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.aggregates import Aggregate
from whimbrel.runtime.operators.combining import Cells
from whimbrel.runtime.operators.event_time import INSTANT, Instants, instants_of, micros_of, timed
from whimbrel.runtime.operators.group_keys import group_keys
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import rehash
from whimbrel.state.ledger import TableSpec

TABLE = "windows"
START, END = "window_start", "window_end"
PANE, ROWS = "_pane", "_rows"


@dataclass(frozen=True, slots=True)
class WindowShape:
    """Windows of ``length_us`` that begin every ``slide_us``, at ``offset_us`` after 1970, as Spark counts them."""

    length_us: int
    slide_us: int
    offset_us: int = 0

    @property
    def pane_us(self) -> int:
        """The greatest span that no window cuts."""
        return gcd(self.length_us, self.slide_us)

    def panes(self, times: Instants) -> Instants:
        """The start of each time's pane."""
        return (times - self.offset_us) // self.pane_us * self.pane_us + self.offset_us

    def windows(self, panes: Instants) -> tuple[Instants, Instants]:
        """All (position of a pane, start of a window over it), latest window first for every pane."""
        newest = (panes - self.offset_us) // self.slide_us * self.slide_us + self.offset_us
        back = np.arange(-(-self.length_us // self.slide_us)) * self.slide_us
        starts = newest[:, None] - back[None, :]
        position, which = np.nonzero(starts + self.length_us > panes[:, None])
        return position, starts[position, which]


class WindowedAggregate(Operator):
    """``closes``: emit each window once, when it is final (append); else every window that changed (update)."""

    def __init__(
        self,
        name: str,
        keys: Sequence[str],
        time: str,
        shape: WindowShape,
        aggregates: Mapping[str, Aggregate],
        schema: pa.Schema,
        delay: str | None,
        closes: bool,
    ) -> None:
        self.name, self.delay, self.time_mode = name, delay, "None" if delay is None else "EventTime"
        self._time, self._shape, self._closes, self._aggregates = time, shape, closes, dict(aggregates)
        self._keys = pa.schema([schema.field(key) for key in keys])
        self._cells = Cells([c for n, a in aggregates.items() for c in a.cells(n, schema)], name)
        columns = tuple(dict.fromkeys([*keys, time, *self._cells.sources]))
        self.sides = (Side(tuple(keys), columns, time),)
        outputs = [a.output_field(n, schema) for n, a in aggregates.items()]
        self._output = pa.schema([(START, INSTANT), (END, INSTANT), *self._keys, *outputs])
        self.output = ddl_of(self._output)

    def tables(self) -> Sequence[TableSpec]:
        """One table: a row per key and window."""
        key = pa.schema([*self._keys, (START, INSTANT)])
        return [TableSpec(TABLE, key, self._cells.schema, self._cells.defaults)]

    def describe(self) -> dict[str, Any]:
        """Kind, keys, windows and cells."""
        return {
            "kind": "windows",
            "keys": [f"{f.name} {f.type}" for f in self._keys],
            "windows": [self._shape.length_us, self._shape.slide_us, self._shape.offset_us],
            "cells": self._cells.describe(),
        }

    def prepare(self, side: int, rows: Rows) -> Rows:
        """Combine a chunk's rows to one row per key and pane; rows without a time belong to no window."""
        known = timed(rows.batch.column(self._time))
        batch, hashes = rows.batch.filter(pa.array(known)), rows.hashes.take(known)
        panes = pa.array(self._shape.panes(micros_of(batch.column(self._time)).to_numpy()))
        group, first = group_rows(rehash(hashes, [panes], 0))
        values = self._cells.start(batch, group, first.size)
        counts = np.bincount(group, minlength=first.size).astype(np.int64)
        keys = group_keys(batch, self._keys.names, first)
        fields = [*keys.schema, (PANE, pa.int64()), (ROWS, pa.int64()), *values.schema]
        arrays = [*keys.columns, panes.take(pa.array(first)), pa.array(counts), *values.columns]
        return Rows(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)), hashes.take(first))

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Take the rows into their windows, then close what the watermark has passed."""
        changed = self._take_in(call) if call.rows.batch.num_rows else []
        if self.delay is None:
            return changed
        closed = self._close(call)
        return closed if self._closes else changed

    def _take_in(self, call: SlotCall) -> list[pa.RecordBatch]:
        position, starts = self._on_time(call)
        if not position.size:
            return []
        batch = call.rows.batch.take(pa.array(position))
        hashes = rehash(call.rows.hashes.take(position), [pa.array(starts)], call.bits)
        group, first = group_rows(hashes)
        windows = instants_of(starts[first])
        keys = batch.select(self._keys.names).take(pa.array(first))
        keys = pa.RecordBatch.from_arrays([*keys.columns, windows], schema=pa.schema([*self._keys, (START, INSTANT)]))
        table = call.ledger.table(TABLE)
        rows, fresh = table.ensure(hashes.take(first), keys)
        new = self._cells.join(batch, group, first.size)
        values = self._cells.update(table.read(rows, self._cells.schema.names), ~fresh, new)
        table.write(rows, values)
        return [self._emit(keys, values)] if not self._closes else []

    def _on_time(self, call: SlotCall) -> tuple[Instants, Instants]:
        batch = call.rows.batch
        position, starts = self._shape.windows(batch.column(PANE).to_numpy())
        late = starts + self._shape.length_us <= call.late_ms * 1000
        if self.delay is None or not late.any():
            return position, starts
        call.count_late(int(batch.column(ROWS).to_numpy()[position[late]].sum()))
        return position[~late], starts[~late]

    def _close(self, call: SlotCall) -> list[pa.RecordBatch]:
        table = call.ledger.table(TABLE)
        rows = call.rows_below(table, START, call.watermark_ms * 1000 - self._shape.length_us + 1)
        if not rows.size:
            return []
        state = table.read(rows)
        table.delete(rows)
        return [self._emit(state.select([*self._keys.names, START]), state.select(self._cells.schema.names))]

    def _emit(self, keys: pa.RecordBatch, values: pa.RecordBatch) -> pa.RecordBatch:
        start = keys.column(START)
        end = pc.add(start.view(pa.int64()), self._shape.length_us).view(INSTANT)
        outputs = [a.output(n, values) for n, a in self._aggregates.items()]
        arrays = [start, end, *keys.select(self._keys.names).columns, *outputs]
        return pa.RecordBatch.from_arrays(arrays, schema=self._output)
