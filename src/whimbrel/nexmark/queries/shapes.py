"""The shape of a side that got no rows: a slot that nothing reached knows no columns."""

from __future__ import annotations

import pyarrow as pa

from whimbrel.nexmark.events.schema import KINDS


def shaped(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows, or an empty batch of this schema where there are none."""
    return rows if rows.num_rows else pa.RecordBatch.from_pylist([], schema=schema)


def narrowed(kind: str, *names: str) -> pa.Schema:
    """These columns of a kind of event; numbers that a query adds may be among them."""
    known = {field.name: field for field in KINDS[kind]}
    return pa.schema([pa.field(name, pa.int64()) if name not in known else known[name] for name in names])
