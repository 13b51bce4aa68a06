"""Keyed aggregates, vectorised from end to end: combined in the router, merged in the host, a row out per changed key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.runtime.operator import Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.aggregates import Aggregate
from whimbrel.runtime.operators.cells import Cell, numbers_of
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows
from whimbrel.state.ledger import TableSpec

TABLE = "keys"


class KeyedAggregate(Operator):
    """``aggregates`` maps output columns to aggregates; ``schema`` is the Arrow schema of the input."""

    def __init__(self, name: str, keys: Sequence[str], aggregates: Mapping[str, Aggregate], schema: pa.Schema) -> None:
        self.name = name
        self._aggregates = dict(aggregates)
        self._input = schema
        self._keys = pa.schema([schema.field(key) for key in keys])
        self._cells: tuple[Cell, ...] = tuple(c for n, a in aggregates.items() for c in a.cells(n, schema))
        wanted = dict.fromkeys(keys) | {c.source: None for c in self._cells if c.source}
        self.sides = (Side(tuple(keys), tuple(wanted)),)
        outputs = [a.output_field(n, schema) for n, a in aggregates.items()]
        self._output = pa.schema([*self._keys, *outputs])
        self.output = ddl_of(self._output)

    def tables(self) -> Sequence[TableSpec]:
        """One table: a row per key."""
        return [TableSpec(TABLE, self._keys, pa.schema([pa.field(c.name, c.type) for c in self._cells]))]

    def describe(self) -> dict[str, Any]:
        """Kind, keys and cells: other cells could not read the state."""
        return {
            "kind": "aggregate",
            "keys": [f"{f.name} {f.type}" for f in self._keys],
            "cells": [f"{c.name} {c.type} {c.combine}" for c in self._cells],
        }

    def prepare(self, side: int, rows: Rows) -> Rows:
        """Combine a chunk's rows to one row per key."""
        group, first = group_rows(rows.hashes)
        reduced = [c.reduce(*c.first_values(rows.batch), group, first.size) for c in self._cells]
        return self._combined(rows, first, reduced)

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Merge the combined rows of all mappers into the state; emit the keys that changed."""
        if not call.rows.batch.num_rows:
            return []
        group, first = group_rows(call.rows.hashes)
        merged = self._merge_mappers(call.rows, group, first)
        table = call.ledger.table(TABLE)
        rows, fresh = table.ensure(merged.hashes, merged.batch.select(self._keys.names))
        values = self._update(table.read(rows, [c.name for c in self._cells]), merged.batch, fresh)
        table.write(rows, values)
        return [self._emit(merged.batch, values)]

    def _merge_mappers(self, rows: Rows, group: np.ndarray[Any, Any], first: np.ndarray[Any, Any]) -> Rows:
        if first.size == rows.batch.num_rows:
            return rows
        held = [numbers_of(rows.batch.column(c.name), c.is_float) for c in self._cells]
        reduced = [c.reduce(*numbers, group, first.size) for c, numbers in zip(self._cells, held, strict=True)]
        return self._combined(rows, first, reduced)

    def _combined(self, rows: Rows, first: np.ndarray[Any, Any], reduced: list[tuple[Any, Any]]) -> Rows:
        taken = rows.batch.select(self._keys.names).take(pa.array(first))
        cells = [c.to_arrow(*numbers) for c, numbers in zip(self._cells, reduced, strict=True)]
        fields = [*taken.schema, *(pa.field(c.name, c.type) for c in self._cells)]
        return Rows(
            pa.RecordBatch.from_arrays([*taken.columns, *cells], schema=pa.schema(fields)), rows.hashes.take(first)
        )

    def _update(self, old: pa.RecordBatch, new: pa.RecordBatch, fresh: np.ndarray[Any, Any]) -> pa.RecordBatch:
        arrays = []
        for cell in self._cells:
            old_numbers, old_valid = numbers_of(old.column(cell.name), cell.is_float)
            new_numbers, new_valid = numbers_of(new.column(cell.name), cell.is_float)
            known = ~fresh if old_valid is None else old_valid & ~fresh
            seen = np.ones(fresh.size, np.bool_) if new_valid is None else new_valid
            arrays.append(cell.to_arrow(*cell.merge(old_numbers, known, new_numbers, seen)))
        return pa.RecordBatch.from_arrays(arrays, names=[c.name for c in self._cells])

    def _emit(self, keys: pa.RecordBatch, values: pa.RecordBatch) -> pa.RecordBatch:
        outputs = [a.output(n, values) for n, a in self._aggregates.items()]
        return pa.RecordBatch.from_arrays([*keys.select(self._keys.names).columns, *outputs], schema=self._output)
