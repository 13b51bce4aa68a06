"""Rows that wait for a partner: a table with one list per value column and key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.runtime.operators.table_view import TableView


def append_lists(table: TableView, rows: pa.RecordBatch, columns: Sequence[str]) -> None:
    """Adds each row's values to the end of its id's lists."""
    if not rows.num_rows:
        return
    rows = pa.table(rows)
    ids, group = np.unique(rows.column("id").to_numpy(), return_inverse=True)
    old = table.get(pa.table({"id": ids}))
    before = pc.list_value_length(old.column(columns[0])).fill_null(0).to_numpy()
    order = pa.array(np.argsort(np.concatenate([np.repeat(np.arange(len(ids)), before), group]), kind="stable"))
    ends = np.cumsum(before + np.bincount(group, minlength=len(ids)))
    edges = pa.array(np.concatenate([[0], ends]), pa.int32())
    merged = {"id": pa.array(ids)}
    for name in columns:
        kind = old.schema.field(name).type
        fresh = rows.column(name).cast(kind.value_type).combine_chunks()
        values = pa.concat_arrays([pc.list_flatten(old.column(name)), fresh]).take(order)
        merged[name] = pa.ListArray.from_arrays(edges, values).cast(kind)
    table.put(pa.table(merged))


def claim_lists(
    table: TableView, keys: pa.RecordBatch, columns: Sequence[str]
) -> tuple[npt.NDArray[np.int64], pa.RecordBatch]:
    """What waits for these ids, as flat rows, and for each the position of its key; it waits no longer."""
    ids = pa.table({"id": keys.column("id")})
    places = table.find(ids)
    found = np.flatnonzero(places >= 0)
    lists = table.read(places[found])
    lengths = pc.list_value_length(lists.column(columns[0])).to_numpy(zero_copy_only=False)
    flat = pa.record_batch([pc.list_flatten(lists.column(name)) for name in columns], names=list(columns))
    table.delete(ids)
    return np.repeat(found, lengths.astype(np.int64)), flat
