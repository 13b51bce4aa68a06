"""The result of a run as files: exactly the columns of the query, and of a running answer only its last rows.

Instants are microseconds in UTC, as in the events' own files: what any Parquet reader, Spark's too, takes for instants.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from whimbrel.nexmark.events.schema import TIME

RUNNING = {"q4": "category", "q6": "seller"}
"""Queries that answer once per closed auction, with the key whose last row is the answer."""


def write_result(found: Path, out: Path, query: str, changes: bool = False) -> int:
    """Writes the Parquet files that a query left in ``found`` as one file in ``out``; returns its rows."""
    # Spark writes instants of 96 bits, which Arrow reads as nanoseconds unless told: those end in the year 2262.
    spark_files = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"))
    table = ds.dataset([str(path) for path in sorted(found.glob("*.parquet"))], format=spark_files).to_table()
    fields = [pa.field(each.name, TIME) if pa.types.is_timestamp(each.type) else each for each in table.schema]
    table = table.cast(pa.schema(fields))
    if query in RUNNING and not changes:
        table = last_rows(table, RUNNING[query]).drop_columns(["auctions"])
    out.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, out / "part-00000.parquet")
    return int(table.num_rows)


def last_rows(table: pa.Table, key: str) -> pa.Table:
    """Per key the row of most closings."""
    ordered = table.sort_by([(key, "ascending"), ("auctions", "ascending")])
    keys = ordered.column(key).to_numpy()
    is_last = np.ones(len(keys), np.bool_)
    is_last[:-1] = keys[1:] != keys[:-1]
    return ordered.filter(pa.array(is_last))
