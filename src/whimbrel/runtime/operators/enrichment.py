"""``enrich``: a stream of rows against a table that is itself kept up to date by a stream.

In every epoch the table's rows are taken in first, the last of each key wins, and then every row of the stream meets
the value that its key has now. Rows that came before their key's value are not joined again later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.runtime.operator import Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.event_time import timed
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows
from whimbrel.state.ledger import TableSpec

TABLE = "values"


class Enrichment(Operator):
    """``how`` is left (rows without a value pass with nulls) or inner (they do not)."""

    def __init__(
        self,
        name: str,
        stream: pa.Schema,
        table: pa.Schema,
        stream_keys: Sequence[str],
        table_keys: Sequence[str],
        how: str,
    ) -> None:
        self.name, self._how = name, how
        self._stream, self._stream_keys, self._table_keys = stream, tuple(stream_keys), tuple(table_keys)
        self._keys = pa.schema([table.field(key) for key in table_keys])
        self._values = pa.schema([field for field in table if field.name not in table_keys])
        self.sides = (Side(self._stream_keys, tuple(stream.names)), Side(self._table_keys, tuple(table.names)))
        self._output = pa.schema([*stream, *self._values])
        self.output = ddl_of(self._output)

    def tables(self) -> Sequence[TableSpec]:
        """One table: the newest value of every key."""
        return [TableSpec(TABLE, self._keys, self._values)]

    def describe(self) -> dict[str, Any]:
        """Kind, how and keys."""
        return {"kind": "enrichment", "how": self._how, "keys": [list(self._stream_keys), list(self._table_keys)]}

    def prepare(self, side: int, rows: Rows) -> Rows:
        """Of a chunk's table rows only the last of every key matters."""
        return rows if side == 0 else _last_of_each(rows)

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Update the table, then join the rows."""
        facts, news = call.sides
        table = call.ledger.table(TABLE)
        if news.batch.num_rows:
            news = _last_of_each(news)
            rows, _ = table.ensure(news.hashes, news.batch.select(self._keys.names))
            table.write(rows, news.batch.select(self._values.names))
        if not facts.batch.num_rows:
            return []
        known = np.ones(facts.batch.num_rows, np.bool_)
        for key in self._stream_keys:
            known &= timed(facts.batch.column(key))
        places = np.where(known, table.find(facts.hashes), -1)
        return [self._joined(facts.batch, table.read(places[places >= 0], self._values.names), places >= 0)]

    def _joined(self, facts: pa.RecordBatch, values: pa.RecordBatch, found: np.ndarray[Any, Any]) -> pa.RecordBatch:
        if self._how == "inner":
            facts = facts.filter(pa.array(found))
        else:
            values = values.take(pa.array(np.cumsum(found) - 1, mask=~found))
        columns = [*facts.select(self._stream.names).columns, *values.columns]
        cast = [column.cast(field.type) for column, field in zip(columns, self._output, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=self._output)


def _last_of_each(rows: Rows) -> Rows:
    group, first = group_rows(rows.hashes)
    last = np.zeros(first.size, np.int64)
    last[group] = np.arange(group.size)
    return Rows(rows.batch.take(pa.array(last)), rows.hashes.take(last))
