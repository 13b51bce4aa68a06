"""``whimbrel bench nexmark-qN``: one query with Whimbrel, natively, and the ceiling, over the same staged epochs.

Every system reads the same files in the same epochs, writes Parquet, and has its answer compared with DuckDB's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whimbrel.bench import peers
from whimbrel.bench.epochs import Follower, Measured, percentiles
from whimbrel.bench.session import bench_session
from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from whimbrel.nexmark.settings import Settings as QuerySettings

SYSTEMS = ("whimbrel", "native-rocksdb", "native-hdfs", "identity")
WARM_UP_EPOCHS = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run. ``window`` and ``slide`` are the query's."""

    events: int = 2_000_000
    epochs: int = 10
    slots: int = 4
    bins: int = 256
    window: str = "10 seconds"
    slide: str = "5 seconds"

    def of_query(self) -> QuerySettings:
        """What the query needs; generated events are never late."""
        from whimbrel.nexmark.settings import Settings as QuerySettings

        return QuerySettings(window_ms=milliseconds(self.window), slide_ms=milliseconds(self.slide))


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """The records of all peers asked for; ``query`` names the query, ``peers`` the systems, the rest are sizes."""
    from whimbrel.nexmark.reference import QUERIES

    query = str(options.get("query", ""))
    if query not in QUERIES:
        raise BadInput(f"there is no benchmark of the query {query!r}: use nexmark-q0 to nexmark-q8")
    wanted = list(options.get("peers") or SYSTEMS)
    unknown = sorted(set(wanted) - set(SYSTEMS))
    if unknown:
        raise BadInput(f"there is no system {unknown[0]!r}: choose among {', '.join(SYSTEMS)}")
    settings = Settings(**{k: v for k, v in options.items() if k in Settings.__dataclass_fields__ and v is not None})
    folder = Path(tempfile.mkdtemp(prefix="whimbrel-bench-"))
    try:
        with bench_session() as spark:
            bench = _Bench(spark, query, settings, folder)
            results = [bench.measure(system) for system in wanted]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"bench": f"nexmark-{query}", "settings": _plain(settings), "results": results}


def _plain(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in Settings.__dataclass_fields__}


class _Bench:
    def __init__(self, spark: SparkSession, query: str, settings: Settings, folder: Path) -> None:
        self._spark, self._query, self._settings, self._folder = spark, query, settings, folder
        self._staged = folder / "staged"
        self._stage()

    def _stage(self) -> None:
        """Warm-up epochs come on top; two more end the input and let every system feel that it has ended."""
        import pyarrow as pa

        from whimbrel.nexmark.arrivals import end_of_input, write_epochs
        from whimbrel.nexmark.events.generator import chunks
        from whimbrel.nexmark.events.rules import Rules

        count = self._settings.events + WARM_UP_EPOCHS * self._settings.events // self._settings.epochs
        slices = [part.interleaved() for part in chunks(0, count, Rules())]
        self.rows = pa.Table.from_batches(slices)
        write_epochs(self.rows, self._staged, self._settings.epochs + WARM_UP_EPOCHS, end_of_input(), ends=2)

    def measure(self, system: str) -> dict[str, Any]:
        """One system's record."""
        place = self._folder / system
        measured = self._drain(system, place)
        steady = measured.after(WARM_UP_EPOCHS)
        taken = slice(WARM_UP_EPOCHS, WARM_UP_EPOCHS + self._settings.epochs)
        lengths = measured.duration_ms[taken]
        return {
            "system": system,
            "rows_per_second": round(1000 * self._settings.events / sum(lengths)) if sum(lengths) else 0,
            "epochs": len(lengths),
            "epoch_ms": {"before": percentiles(lengths), "during": percentiles([]), "after": percentiles([])},
            "silence_ms": steady.longest_silence_ms(),
            "correct": None if system == "identity" else self._is_correct(place / "result"),
        }

    def _drain(self, system: str, place: Path) -> Measured:
        result, checkpoint, close = self._result(system, place)
        writer = result.writeStream.format("parquet").option("path", str(place / "result"))
        query = writer.option("checkpointLocation", checkpoint).start()
        follower = Follower(query)
        try:
            query.processAllAvailable()
            follower.look()
        finally:
            query.stop()
            close()
        return follower.measured

    def _result(self, system: str, place: Path) -> tuple[DataFrame, str, Any]:
        from whimbrel.nexmark.native import native_query
        from whimbrel.nexmark.queries import migratable_query
        from whimbrel.nexmark.streams import Streams, spark_schema
        from whimbrel.runtime.job import job

        reader = self._spark.readStream.schema(spark_schema()).option("maxFilesPerTrigger", "1")
        streams = Streams.of(reader.parquet(str(self._staged)))
        if system == "whimbrel":
            slots, bins = self._settings.slots, self._settings.bins
            ours = job(self._spark, self._query, max_slots=slots, bins=bins, directory=place / "job")
            result = migratable_query(self._query, ours, streams, self._settings.of_query())
            return result, ours.checkpoint, ours.close
        peers.use_provider(self._spark, peers.HDFS if system == "native-hdfs" else peers.ROCKSDB, self._settings.slots)
        native = peers.identity(streams.bid) if system == "identity" else None
        result = native if native is not None else native_query(self._query, streams, self._settings.of_query())
        return result, str(place / "checkpoint"), lambda: None

    def _is_correct(self, found: Path) -> bool:
        """Equal as multisets to the reference answer, without the rows that only end the input."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        from whimbrel.nexmark.reference import duckdb_answer

        settings = self._settings.of_query()
        wanted = duckdb_answer(
            self._query,
            *_kinds(self.rows),
            window_ms=settings.window_ms,
            slide_ms=settings.slide_ms,
            changes=True,
        )
        files = [str(path) for path in sorted(found.glob("*.parquet"))]
        answer = ds.dataset(files, format="parquet").to_table() if files else wanted.slice(0, 0)
        ended = pa.array([False] * len(answer), pa.bool_())
        for name in ("auction", "id"):
            if name in answer.schema.names:
                ended = pc.or_(ended, pc.less(answer.column(name), 0)).combine_chunks()
        return same_rows(answer.filter(pc.invert(ended)), wanted)


def same_rows(found: pa.Table, wanted: pa.Table) -> bool:
    """Whether two tables hold the same rows, as multisets."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("found", _hashable(found))
        connection.register("wanted", _hashable(wanted))
        sql = "SELECT count(*) FROM (SELECT * FROM {} EXCEPT ALL SELECT * FROM {})"
        pairs = (("found", "wanted"), ("wanted", "found"))
        return all(connection.sql(sql.format(*pair)).fetchall() == [(0,)] for pair in pairs)


def _hashable(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    times = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
    for name in times:
        numbers = table.column(name).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(name), name, numbers)
    return table


def _kinds(rows: pa.Table) -> list[pa.Table]:
    """The three flat tables of one stream of events."""
    import pyarrow as pa

    kinds = []
    for kind in ("person", "auction", "bid"):
        structs = rows.column(kind).drop_null().combine_chunks()
        structs = structs.chunk(0) if isinstance(structs, pa.ChunkedArray) else structs
        kinds.append(pa.Table.from_batches([pa.RecordBatch.from_struct_array(structs)]))
    return kinds
