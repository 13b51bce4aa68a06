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
    fresh = pa.table(rows).group_by("id", use_threads=False).aggregate([(name, "list") for name in columns])
    ids = fresh.select(["id"])
    old = table.get(ids)
    merged = {"id": ids.column("id").combine_chunks()}
    for name in columns:
        pairs = zip(old.column(name).to_pylist(), fresh.column(f"{name}_list").to_pylist(), strict=True)
        merged[name] = pa.array([(before or []) + after for before, after in pairs], old.schema.field(name).type)
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
