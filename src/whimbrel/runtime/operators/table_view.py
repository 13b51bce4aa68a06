"""A keyed table as a user's function sees it: whole batches in, whole batches out.

Its rows are found by the values of the key columns. The first of those are the operator's routing keys, so a row
always lies in the bin of its routing key and moves with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model.errors import BadInput
from whimbrel.runtime.operator import SlotCall
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import KeyHashes, hash_keys, rehash
from whimbrel.state.ledger import TableSpec
from whimbrel.state.table import KeyedTable

Batch: TypeAlias = Any
"""An Arrow RecordBatch or Table."""


class TableView:
    """Lookup, put, delete and range over one table of the slot."""

    def __init__(self, call: SlotCall, table: KeyedTable, spec: TableSpec, routing: Sequence[str]) -> None:
        self._call, self._table = call, table
        self._keys, self._values = spec.key, spec.value
        self._routing = list(routing)
        self._bits = call.bits

    def __len__(self) -> int:
        return self._table.count

    def find(self, keys: Batch) -> npt.NDArray[np.int64]:
        """The place of each row's key, -1 where there is none. ``keys`` needs the key columns, by name."""
        return self._table.find(self._hashes(keys))

    def get(self, keys: Batch) -> pa.RecordBatch:
        """The value columns for each row's key, in order; all null where the key is not there."""
        places = self.find(keys)
        found = places >= 0
        values = self._table.read(places[found], self._values.names)
        positions = np.full(places.size, -1, np.int64)
        positions[found] = np.arange(int(found.sum()))
        return values.take(pa.array(positions, mask=~found))

    def read(self, places: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """Key and value columns of these places."""
        return self._table.read(places)

    def put(self, rows: Batch) -> None:
        """Write whole rows (key and value columns, by name); of rows with the same key the last one wins."""
        if not rows.num_rows:
            return
        hashes = self._hashes(rows)
        group, first = group_rows(hashes)
        last = np.zeros(first.size, np.int64)
        last[group] = np.arange(rows.num_rows)
        chosen = _as_batch(rows).take(pa.array(last))
        places, _ = self._table.ensure(hashes.take(last), self._cast(chosen, self._keys))
        self._table.write(places, self._cast(chosen, self._values))

    def delete(self, keys: Batch) -> None:
        """Remove each row's key; missing ones are fine."""
        places = np.unique(self.find(keys))
        self._table.delete(places[places >= 0])

    def below(self, column: str, bound: int) -> pa.RecordBatch:
        """The rows whose fixed-width ``column`` (a time, a number) is less than ``bound``; nearly free when none is."""
        return self._table.read(self._call.rows_below(self._table, column, bound))

    def all(self) -> pa.RecordBatch:
        """Every row of the slot: an epoch that calls this pays for all that the slot holds."""
        return self._table.read(self._table.scan(np.flatnonzero(self._call.held)))

    def _hashes(self, rows: Batch) -> KeyHashes:
        for name in self._keys.names:
            if name not in rows.schema.names:
                raise BadInput(
                    f"rows lack the key column {name!r} of the table: they have {', '.join(rows.schema.names)}"
                )
        batch = self._cast(_as_batch(rows), self._keys)
        hashes = hash_keys([batch.column(name) for name in self._routing])
        extra = [batch.column(name) for name in self._keys.names if name not in self._routing]
        return rehash(hashes, extra, self._bits) if extra else hashes

    def _cast(self, rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        arrays = []
        for field in schema:
            if field.name not in rows.schema.names:
                raise BadInput(
                    f"rows lack the column {field.name!r} of the table: they have {', '.join(rows.schema.names)}"
                )
            arrays.append(_cast(rows.column(field.name), field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(column: Any, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


def _as_batch(rows: Batch) -> pa.RecordBatch:
    from whimbrel.runtime.packing import as_batch

    return rows if isinstance(rows, pa.RecordBatch) else as_batch(rows)
