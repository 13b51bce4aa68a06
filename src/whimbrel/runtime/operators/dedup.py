"""``dedup``: the first row of every key passes, the others do not.

Without a watermark every key is remembered for good. With one, and the event time among the keys, a key is forgotten
once the watermark reaches its time; with one, and other keys, it is forgotten a delay after the time of the row that
passed, so that duplicates within the delay are caught. Both as Spark's own operators do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.model.durations import milliseconds
from whimbrel.runtime.operator import Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.event_time import INSTANT, is_late, micros_of
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows
from whimbrel.state.ledger import TableSpec

TABLE = "seen"
EXPIRES, ROWS = "_expires", "_rows"
_COUNTED = pa.field(ROWS, pa.int64())


class Dedup(Operator):
    """``schema`` is the Arrow schema of the input and of the output."""

    def __init__(
        self, name: str, keys: Sequence[str], schema: pa.Schema, time: str | None = None, delay: str | None = None
    ) -> None:
        self.name, self.delay, self.time_mode = name, delay, "None" if delay is None else "EventTime"
        self._keys = pa.schema([schema.field(key) for key in keys])
        self._time = time if delay is not None else None
        self._expires = self._time is not None and self._time not in keys
        self._output = schema
        self.sides = (Side(tuple(keys), tuple(schema.names), self._time),)
        self.output = ddl_of(schema)

    def tables(self) -> Sequence[TableSpec]:
        """One table: a row per key that has been seen."""
        return [TableSpec(TABLE, self._keys, pa.schema([(EXPIRES, INSTANT)] if self._expires else []))]

    def describe(self) -> dict[str, Any]:
        """Kind, keys and time."""
        return {
            "kind": "dedup",
            "keys": [f"{f.name} {f.type}" for f in self._keys],
            "time": self._time,
        }

    def prepare(self, side: int, rows: Rows) -> Rows:
        """Drop a chunk's own duplicates where all rows of a key are late together or not at all.

        With event time they are counted: where the key is late, each of them was a late row.
        """
        if self._expires:
            return rows
        group, first = group_rows(rows.hashes)
        batch = rows.batch.take(pa.array(first))
        if self._time is not None:
            counts = pa.array(np.bincount(group, minlength=first.size).astype(np.int64))
            batch = pa.RecordBatch.from_arrays([*batch.columns, counts], schema=batch.schema.append(_COUNTED))
        return Rows(batch, rows.hashes.take(first))

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Let pass what is new; forget what the watermark has passed."""
        passed = self._pass(call) if call.rows.batch.num_rows else []
        self._forget(call)
        return passed

    def _pass(self, call: SlotCall) -> list[pa.RecordBatch]:
        batch, hashes = call.rows.batch, call.rows.hashes
        if self._time is not None:
            late = is_late(batch.column(self._time), call.late_ms)
            call.count_late(int(late.sum() if self._expires else batch.column(ROWS).to_numpy()[late].sum()))
            batch, hashes = batch.filter(pa.array(~late)), hashes.take(~late)
        first = group_rows(hashes)[1]
        batch, hashes = batch.take(pa.array(first)), hashes.take(first)
        table = call.ledger.table(TABLE)
        rows, fresh = table.ensure(hashes, batch.select(self._keys.names))
        new = batch.filter(pa.array(fresh))
        if self._expires:
            table.write(rows[fresh], pa.record_batch([self._expiry(new)], [EXPIRES]))
        return [new.select(self._output.names).cast(self._output)]

    def _expiry(self, batch: pa.RecordBatch) -> pa.Array:
        times = pc.fill_null(micros_of(batch.column(self._time)), 0)
        return pc.add(times, milliseconds(self.delay or 0) * 1000).view(INSTANT)

    def _forget(self, call: SlotCall) -> None:
        if self._time is None:
            return
        table = call.ledger.table(TABLE)
        column = EXPIRES if self._expires else self._time
        table.delete(call.rows_below(table, column, call.watermark_ms * 1000 + 1))
