"""Whether a stream that was stopped in its middle has given out what the reference gives for the events so far.

A row that needs nothing but its events must be there. A row that waits for the watermark must be there if the
watermark has passed it, and may not be there before. Running averages must be the first so many of each key, with every
closing among them whose expiry the watermark has passed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from whimbrel.bench.nexmark_feed import Feed


def is_answer(query: str, feed: Feed, until: int, folder: Path, progress: Sequence[Mapping[str, Any]]) -> bool:
    """Compares the Parquet rows in ``folder`` with DuckDB's answer over the events before ``until``."""
    import pyarrow.dataset as ds

    from whimbrel.nexmark.reference import duckdb_answer

    settings, tables = feed.shape.settings(), feed.tables(until)
    kinds = (tables["person"], tables["auction"], tables["bid"])
    sizes: dict[str, Any] = {"window_ms": settings.window_ms, "slide_ms": settings.slide_ms}
    wanted = duckdb_answer(query, *kinds, **sizes, changes=True)
    files = committed_files(folder)
    found = ds.dataset(files, format="parquet").to_table().select(wanted.schema.names) if files else wanted.slice(0, 0)
    watermark = watermark_us(progress)
    if query in ("q4", "q6"):
        person, auction, bid = kinds
        due = auction.filter(pc.less_equal(auction.column("expires").cast(pa.int64()), watermark))
        closed = duckdb_answer(query, person, due, bid, **sizes, changes=True)
        return are_first_of_each_key(found, wanted) and missing_rows(closed, found) == 0
    return same_rows(found, wanted.filter(_is_closed(query, wanted, settings.window_ms, watermark)))


def committed_files(folder: Path) -> list[str]:
    """The files of committed epochs, by the log of Spark's file sink; what an epoch that was cut off wrote is none."""
    logs = [path for path in (folder / "_spark_metadata").glob("[0-9]*") if path.suffix != ".crc"]
    entries = [json.loads(line) for log in logs for line in log.read_text().splitlines() if line.startswith("{")]
    return sorted(str(folder / Path(entry["path"]).name) for entry in entries)


def watermark_us(progress: Sequence[Mapping[str, Any]]) -> int:
    """The latest watermark under which an epoch ran, in microseconds; 0 where there is none."""
    found = [report["eventTime"]["watermark"] for report in progress if report.get("eventTime", {}).get("watermark")]
    instants = [datetime.fromisoformat(text.replace("Z", "+00:00")) for text in found]
    return max((round(instant.timestamp() * 1e6) for instant in instants), default=0)


def _is_closed(query: str, wanted: pa.Table, window_ms: int, watermark: int) -> Any:
    if query not in ("q5", "q7"):
        return pa.array([True] * len(wanted), pa.bool_())
    if query == "q5":
        return pc.less_equal(wanted.column("window_end").cast(pa.int64()), watermark)
    moment, size = wanted.column("dateTime").cast(pa.int64()), window_ms * 1000
    opens = pc.multiply(pc.divide(moment, size), size)
    return pc.less_equal(pc.add(opens, size), watermark)


def are_first_of_each_key(found: pa.Table, wanted: pa.Table) -> bool:
    """Whether ``found`` is a part of ``wanted`` that has, of every key, the first so many rows."""
    key = wanted.schema.names[0]
    groups = found.group_by(key).aggregate([("auctions", "max"), ("auctions", "count")])
    whole = pc.all(pc.equal(groups.column("auctions_max"), groups.column("auctions_count"))).as_py()
    return whole is not False and missing_rows(found, wanted) == 0


def same_rows(found: pa.Table, wanted: pa.Table) -> bool:
    """Whether two tables hold the same rows, as multisets."""
    return missing_rows(found, wanted) == 0 and missing_rows(wanted, found) == 0


def missing_rows(some: pa.Table, others: pa.Table) -> int:
    """How many rows of ``some`` the others lack, as multisets."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("some_rows", _hashable(some))
        connection.register("other_rows", _hashable(others))
        sql = "SELECT count(*) FROM (SELECT * FROM some_rows EXCEPT ALL SELECT * FROM other_rows)"
        return int(connection.sql(sql).fetchall()[0][0])


def _hashable(table: pa.Table) -> pa.Table:
    times = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
    for name in times:
        numbers = table.column(name).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(name), name, numbers)
    return table
