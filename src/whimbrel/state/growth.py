"""State that was written for fewer columns, read as state for the columns of today.

An operator may grow across a restart: a table may be added, or a value column, or a field within a nested one. Rows
from before get the column's default. Nothing else may change, and a slot that grows writes all of its state anew in
its next commit, so old and new rows never lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.model import BadInput, JobMismatch
from whimbrel.state.backend import TableSpec
from whimbrel.state.table import KeyedTable


def fingerprint_of(specs: Sequence[TableSpec]) -> str:
    """The tables as text. Raises BadInput where there is none or two share a name."""
    names = [spec.name for spec in specs]
    if not names or len(set(names)) != len(names):
        raise BadInput(f"an operator declares the tables {names}: it needs at least one, each with a name of its own")
    return ";".join(f"{s.name}({KeyedTable(s.key, s.value, 0).layout.fingerprint()})" for s in specs)


def why_not(was: Sequence[TableSpec], now: Sequence[TableSpec]) -> str:
    """What keeps tables from growing from ``was`` to ``now``, in words; empty where nothing does."""
    known = {spec.name: spec for spec in now}
    for old in was:
        new = known.get(old.name)
        if new is None:
            return f"holds a table {old.name!r} that it no longer has"
        if list(old.key) != list(new.key):
            return f"keeps table {old.name!r} by {_columns(old.key)}, not by {_columns(new.key)}"
        for column in old.value:
            at = new.value.get_field_index(column.name)
            if at < 0:
                return f"holds a column {column.name!r} in table {old.name!r} that it no longer has"
            if not can_grow(column.type, new.value.field(at).type):
                return f"holds column {column.name!r} as {column.type}, not as {new.value.field(at).type}"
    return ""


def can_grow(was: pa.DataType, now: pa.DataType) -> bool:
    """Whether a type is the other, or the other with more fields.

    >>> can_grow(pa.struct([("a", pa.int64())]), pa.struct([("a", pa.int64()), ("b", pa.string())]))
    True
    >>> can_grow(pa.int64(), pa.string())
    False
    """
    if was == now:
        return True
    if pa.types.is_list(was) and pa.types.is_list(now):
        return can_grow(was.value_type, now.value_type)
    if pa.types.is_struct(was) and pa.types.is_struct(now):
        places = [(field, now.get_field_index(field.name)) for field in was]
        return all(at >= 0 and can_grow(field.type, now.field(at).type) for field, at in places)
    return False


def earlier_tables(fingerprint: str, earlier: Sequence[Sequence[TableSpec]]) -> Sequence[TableSpec]:
    """The earlier tables that state with this fingerprint was written for. Raises JobMismatch."""
    for specs in earlier:
        if fingerprint_of(specs) == fingerprint:
            return specs
    raise JobMismatch(
        f"the state was written for tables {fingerprint}, which this operator never had: restore the control folder of "
        "the job, or start a new job"
    )


def fill_grown(
    was: Sequence[TableSpec], held: Sequence[KeyedTable], now: Sequence[TableSpec], tables: Sequence[KeyedTable]
) -> None:
    """Puts the rows of ``held`` (tables of ``was``) into ``tables`` (empty ones of ``now``)."""
    old = {spec.name: table for spec, table in zip(was, held, strict=True)}
    for spec, table in zip(now, tables, strict=True):
        source = old.get(spec.name)
        if source is not None and source.count:
            rows = source.scan()
            read = source.read(rows)
            places, _ = table.ensure(source.hashes_of(rows), read.select(spec.key.names))
            columns = [_grown(read, field, spec.defaults.get(field.name)) for field in spec.value]
            table.write(places, pa.RecordBatch.from_arrays(columns, schema=spec.value))


def _grown(rows: pa.RecordBatch, field: pa.Field, default: Any) -> pa.Array:
    at = rows.schema.get_field_index(field.name)
    if at < 0:
        return pa.array([default], field.type).take(pa.array(np.zeros(rows.num_rows, np.int64)))
    column = rows.column(at)
    return column if column.type == field.type else pa.array(column.to_pylist(), field.type)


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
