"""Aggregates over sessions: rows of a key less than a gap apart belong together.

A session reaches from its first row to a gap after its last one. A row may begin one, lengthen one or join several.
A session is final, and leaves, once its end is at or before the watermark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.runtime.operator import Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.aggregates import Aggregate
from whimbrel.runtime.operators.combining import Cells
from whimbrel.runtime.operators.event_time import INSTANT, Instants, instants_of, is_late, micros_of, timed
from whimbrel.runtime.operators.group_keys import group_keys
from whimbrel.runtime.operators.multimap import Multimap, multimap_specs
from whimbrel.runtime.operators.windows import END, START
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows

NAME = "sessions"
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Spans:
    """Spans of time of keys (numbered), in any order."""

    key: Index
    start: Instants
    end: Instants


class SessionAggregate(Operator):
    """Sessions with a gap of ``gap_us``; each is emitted once, when the watermark has passed its end."""

    def __init__(
        self,
        name: str,
        keys: Sequence[str],
        time: str,
        gap_us: int,
        aggregates: Mapping[str, Aggregate],
        schema: pa.Schema,
        delay: str,
    ) -> None:
        self.name, self.delay, self.time_mode = name, delay, "EventTime"
        self._time, self._gap_us, self._aggregates = time, gap_us, dict(aggregates)
        self._keys = pa.schema([schema.field(key) for key in keys])
        self._cells = Cells([c for n, a in aggregates.items() for c in a.cells(n, schema)], name)
        self.sides = (Side(tuple(keys), tuple(dict.fromkeys([*keys, time, *self._cells.sources])), time),)
        outputs = [a.output_field(n, schema) for n, a in aggregates.items()]
        self._output = pa.schema([(START, INSTANT), (END, INSTANT), *self._keys, *outputs])
        self.output = ddl_of(self._output)
        self._values = pa.schema([(START, INSTANT), (END, INSTANT), *self._cells.schema])

    def tables(self) -> Sequence[Any]:
        """A multimap of sessions per key."""
        return multimap_specs(NAME, self._keys, self._values, self._cells.defaults)

    def describe(self) -> dict[str, Any]:
        """Kind, keys, gap and cells."""
        keys = [f"{f.name} {f.type}" for f in self._keys]
        return {"kind": "sessions", "keys": keys, "gap_us": self._gap_us, "cells": self._cells.describe()}

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Take the rows into sessions, then close those that the watermark has passed."""
        sessions = Multimap(call, NAME, self._keys)
        rows = self._on_time(call) if call.rows.batch.num_rows else call.rows
        if rows.batch.num_rows:
            self._take_in(rows, sessions)
        return self._close(call, sessions)

    def _on_time(self, call: SlotCall) -> Rows:
        times = call.rows.batch.column(self._time)
        late = is_late(times, call.late_ms - self._gap_us // 1000)
        call.count_late(int(late.sum()))
        kept = ~late & timed(times)
        return Rows(call.rows.batch.filter(pa.array(kept)), call.rows.hashes.take(kept))

    def _take_in(self, rows: Rows, sessions: Multimap) -> None:
        key, first = group_rows(rows.hashes)
        owner, places = sessions.lookup(rows.hashes.take(first))
        old = sessions.rows.read(places, self._values.names)
        began = micros_of(rows.batch.column(self._time)).to_numpy()
        spans = _Spans(
            np.concatenate([owner, key]),
            np.concatenate([micros_of(old.column(START)).to_numpy(), began]),
            np.concatenate([micros_of(old.column(END)).to_numpy(), began + self._gap_us]),
        )
        session = _sessions_of(spans)
        grown = np.unique(session[owner.size :])
        number = np.full(int(session.max()) + 1, -1, np.int64)
        number[grown] = np.arange(grown.size)
        touched = number[session[: owner.size]]
        values = self._values_of(rows, old, touched, number[session[owner.size :]], spans, number[session])
        sessions.remove(places[touched >= 0])
        key_of = np.zeros(grown.size, np.int64)
        key_of[number[session[owner.size :]]] = key
        at = first[key_of]
        keys = group_keys(rows.batch, self._keys.names, at)
        sessions.add(rows.hashes.take(at), keys, values)

    def _values_of(
        self, rows: Rows, old: pa.RecordBatch, touched: Index, joined: Index, spans: _Spans, number: Index
    ) -> pa.RecordBatch:
        count = int(joined.max()) + 1
        start, end = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
        inside = number >= 0
        np.minimum.at(start, number[inside], spans.start[inside])
        np.maximum.at(end, number[inside], spans.end[inside])
        new = self._cells.start(rows.batch, joined, count)
        kept = np.flatnonzero(touched >= 0)
        before = old.select(self._cells.schema.names).take(pa.array(kept))
        both = pa.Table.from_batches([before, new]).combine_chunks().to_batches()[0]
        cells = self._cells.join(both, np.concatenate([touched[kept], np.arange(count)]), count)
        return pa.RecordBatch.from_arrays([instants_of(start), instants_of(end), *cells.columns], schema=self._values)

    def _close(self, call: SlotCall, sessions: Multimap) -> list[pa.RecordBatch]:
        places = call.rows_below(sessions.rows, END, call.watermark_ms * 1000 + 1)
        if not places.size:
            return []
        state = sessions.rows.read(places)
        sessions.remove(places)
        outputs = [a.output(n, state) for n, a in self._aggregates.items()]
        arrays = [state.column(START), state.column(END), *state.select(self._keys.names).columns, *outputs]
        return [pa.RecordBatch.from_arrays(arrays, schema=self._output)]


def _sessions_of(spans: _Spans) -> Index:
    """The number of the session of every span: spans of a key that overlap, or touch, are one."""
    order = np.lexsort((spans.end, spans.start, spans.key))
    key, start, end = spans.key[order], spans.start[order], spans.end[order]
    # The greatest end so far within a key, as a running maximum over ranks that grow from key to key.
    ends, rank = np.unique(end, return_inverse=True)
    reached = ends[np.maximum.accumulate(key * ends.size + rank) % ends.size]
    begins = np.ones(order.size, np.bool_)
    begins[1:] = (key[1:] != key[:-1]) | (start[1:] > reached[:-1])
    session = np.empty(order.size, np.int64)
    session[order] = np.cumsum(begins) - 1
    return session
