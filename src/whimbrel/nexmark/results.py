"""The result of a run as files: exactly the columns of the query, and of a running answer only its last rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

RUNNING = {"q4": "category", "q6": "seller"}
"""Queries that answer once per closed auction, with the key whose last row is the answer."""


def write_result(found: Path, out: Path, query: str, changes: bool = False) -> int:
    """Writes the Parquet files that a query left in ``found`` as one file in ``out``; returns its rows."""
    table = ds.dataset([str(path) for path in sorted(found.glob("*.parquet"))], format="parquet").to_table()
    if query in RUNNING and not changes:
        table = last_rows(table, RUNNING[query]).drop_columns(["auctions"])
    out.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, out / "part-00000.parquet")
    return int(table.num_rows)


def last_rows(table: pa.Table, key: str) -> pa.Table:
    """Per key the row of most closings."""
    ordered = table.sort_by([(key, "ascending"), ("auctions", "ascending")])
    keys = ordered.column(key).to_numpy()
    return ordered.filter(pa.array(np.append(keys[1:] != keys[:-1], [True] * min(len(keys), 1))))
