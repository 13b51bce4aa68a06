"""Is the answer right while the state moves? Queries ridden through three migrations, against two batch engines.

Every query starts on two slots, goes to four, has its bins dealt out at random, and ends on three. Its result must be
that of DuckDB and that of Spark SQL as a multiset: no row more, no row less.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from whimbrel.nexmark.arrivals import of_kind, read_events
from whimbrel.nexmark.events.schema import KINDS, TIME
from whimbrel.nexmark.reference import duckdb_answer, spark_answer
from whimbrel.nexmark.running import Run, run
from whimbrel.nexmark.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT = 3
"""How many rows of a difference are shown."""


@dataclass(frozen=True, slots=True)
class Journey:
    """The migrations on the way: which epoch wants how many slots, and which one deals the bins out anew."""

    slots: int = 2
    rescale: dict[int, int] = field(default_factory=lambda: {2: 4, 8: 3})
    shuffle: dict[int, int] = field(default_factory=lambda: {5: 11})
    epochs: int = 12
    bins: int = 64
    pacing: str = "batched"

    def of(self, query: str, settings: Settings) -> Run:
        """The run of one query."""
        ride = {"slots": self.slots, "rescale": self.rescale, "shuffle": self.shuffle}
        return Run(query, settings, bins=self.bins, epochs=self.epochs, pacing=self.pacing, **ride)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows that one side has and the other has not, as multisets; a few of them as text."""

    surplus: int
    missing: int
    shown: tuple[str, ...]

    @property
    def is_none(self) -> bool:
        """Whether the two sides are equal."""
        return not self.surplus and not self.missing


def check(spark: SparkSession, wanted: Run, events: Path | pa.Table, out: Path) -> dict[str, Any]:
    """Runs the query into ``out`` and compares it with both engines; ``equal`` says whether both agree."""
    rows = events if isinstance(events, pa.Table) else read_events(events)
    answer = run(spark, wanted, rows, out)
    found = pq.read_table(out)
    begun = time.monotonic()
    oracles = answers(spark, wanted.query, wanted.settings, rows)
    differences = {name: difference(found, table) for name, table in oracles.items()}
    return {
        **answer,
        "oracle_seconds": round(time.monotonic() - begun, 3),
        **{name: each.is_none for name, each in differences.items()},
        "equal": all(each.is_none for each in differences.values()),
        "differences": [f"{name}: {row}" for name, each in differences.items() for row in each.shown],
    }


def answers(spark: SparkSession, query: str, settings: Settings, rows: pa.Table) -> dict[str, pa.Table]:
    """The answers of DuckDB and of Spark SQL over all events at once."""
    tables = [of_kind(rows, kind) for kind in KINDS]
    options: dict[str, Any] = {
        "window_ms": settings.window_ms,
        "slide_ms": settings.slide_ms,
        "ignore_reserve": settings.ignore_reserve,
    }
    frames = [spark.createDataFrame(table) for table in tables]
    return {
        "duckdb": duckdb_answer(query, *tables, **options),
        "spark_sql": spark_answer(spark, query, *frames, **options).toArrow(),
    }


def difference(found: pa.Table, wanted: pa.Table) -> Difference:
    """How two tables differ as multisets. Columns are compared by place, instants as instants."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("found", _comparable(found))
        connection.register("wanted", _comparable(wanted))
        sides = (("found", "wanted", "+"), ("wanted", "found", "-"))
        counts, shown = [], []
        for one, other, sign in sides:
            rest = connection.sql(f"SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}").to_arrow_table()
            counts.append(rest.num_rows)
            shown += [f"{sign} {row}" for row in rest.slice(0, LIMIT).to_pylist()]
    return Difference(counts[0], counts[1], tuple(shown))


def _comparable(table: pa.Table) -> pa.Table:
    columns = [
        column.cast(TIME).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
