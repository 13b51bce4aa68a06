"""Keyed aggregates, vectorised from end to end: combined in the router, merged in the host, a row out per changed key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.runtime.operator import Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.aggregates import Aggregate
from whimbrel.runtime.operators.combining import Cells
from whimbrel.runtime.operators.expiry import Expiry
from whimbrel.runtime.operators.group_keys import group_keys
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows
from whimbrel.state.ledger import TableSpec

TABLE = "keys"
NEVER = Expiry()


class KeyedAggregate(Operator):
    """``aggregates`` maps output columns to aggregates; ``schema`` is the Arrow schema of the input."""

    def __init__(
        self,
        name: str,
        keys: Sequence[str],
        aggregates: Mapping[str, Aggregate],
        schema: pa.Schema,
        expiry: Expiry = NEVER,
    ) -> None:
        self.name, self._expiry, self.time_mode = name, expiry, expiry.time_mode
        self._aggregates = dict(aggregates)
        self._input = schema
        self._keys = pa.schema([schema.field(key) for key in keys])
        self._cells = Cells([c for n, a in aggregates.items() for c in a.cells(n, schema)], name)
        self.sides = (Side(tuple(keys), tuple(dict.fromkeys([*keys, *self._cells.sources]))),)
        outputs = [a.output_field(n, schema) for n, a in aggregates.items()]
        self._output = pa.schema([*self._keys, *outputs])
        self.output = ddl_of(self._output)

    def tables(self) -> Sequence[TableSpec]:
        """One table: a row per key."""
        values = self._expiry.extend(self._cells.schema)
        return [TableSpec(TABLE, self._keys, values, self._cells.defaults)]

    def describe(self) -> dict[str, Any]:
        """Kind, keys and cells: other cells could not read the state."""
        return {
            "kind": "aggregate",
            "keys": [f"{f.name} {f.type}" for f in self._keys],
            "cells": self._cells.describe(),
        }

    def prepare(self, side: int, rows: Rows) -> Rows:
        """Combine a chunk's rows to one row per key."""
        group, first = group_rows(rows.hashes)
        return self._with_keys(rows, first, self._cells.start(rows.batch, group, first.size))

    def begin(self, call: SlotCall, table: str, rows: Rows) -> None:
        """Initial rows count as touched in the first epoch."""
        super().begin(call, table, self._expiry.stamped_rows(call, rows))

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Merge the combined rows of all mappers into the state; emit the keys that changed."""
        table = call.ledger.table(TABLE)
        self._expiry.forget(call, table)
        if not call.rows.batch.num_rows:
            return []
        group, first = group_rows(call.rows.hashes)
        merged = self._with_keys(call.rows, first, self._cells.join(call.rows.batch, group, first.size))
        rows, fresh = table.ensure(merged.hashes, merged.batch.select(self._keys.names))
        values = self._cells.update(table.read(rows, self._cells.schema.names), ~fresh, merged.batch)
        table.write(rows, self._expiry.stamp(call, values))
        return [self._emit(merged.batch, values)]

    def _with_keys(self, rows: Rows, first: np.ndarray[Any, Any], values: pa.RecordBatch) -> Rows:
        keys = group_keys(rows.batch, self._keys.names, first)
        schema = pa.schema([*keys.schema, *values.schema])
        batch = pa.RecordBatch.from_arrays([*keys.columns, *values.columns], schema=schema)
        return Rows(batch, rows.hashes.take(first))

    def _emit(self, keys: pa.RecordBatch, values: pa.RecordBatch) -> pa.RecordBatch:
        outputs = [a.output(n, values) for n, a in self._aggregates.items()]
        return pa.RecordBatch.from_arrays([*keys.select(self._keys.names).columns, *outputs], schema=self._output)
