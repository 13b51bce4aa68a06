"""``whimbrel bench nexmark-qN`` (or ``nexmark-all``): queries with Whimbrel, natively, and the ceiling, over the same epochs.

Every system reads the same files in the same epochs, writes Parquet, and has its answer compared with DuckDB's. Throughput
is that of the epochs before anything moves; then Whimbrel's state goes from all slots to one slot fewer, in batches, while
its stream flows on. The others have nothing to move, so their stream ends there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whimbrel.bench import peers
from whimbrel.bench.choosing import announced, wanted
from whimbrel.bench.epochs import Follower, Measured, percentiles
from whimbrel.bench.folders import folder_of_a_run
from whimbrel.bench.needed import need
from whimbrel.bench.nexmark_answers import same_rows
from whimbrel.bench.session import bench_session
from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from whimbrel.nexmark.settings import Settings as QuerySettings
    from whimbrel.runtime.job import Job

SYSTEMS = ("whimbrel", "native-rocksdb", "native-hdfs", "identity")
WARM_UP_EPOCHS = 3
EVENTS_PER_SECOND = 200_000
"""What a query of medium weight takes on two cores."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of a run. ``events`` are shared out over ``epochs``; ``moving`` more of the same size follow, in which
    Whimbrel's state moves. ``window`` and ``slide`` are the query's.
    """

    events: int = 1_000_000
    epochs: int = 5
    moving: int = 7
    slots: int = 4
    bins: int = 256
    window: str = "10 seconds"
    slide: str = "5 seconds"

    @property
    def steady_epochs(self) -> int:
        """Those that warm up and those that are measured."""
        return WARM_UP_EPOCHS + self.epochs

    @property
    def staged_epochs(self) -> int:
        """Those, and those of the migration."""
        return self.steady_epochs + self.moving

    def epochs_of(self, system: str) -> int:
        """What a system reads: only Whimbrel has something to move."""
        return self.staged_epochs if system == "whimbrel" else self.steady_epochs

    def of_query(self) -> QuerySettings:
        """What the query needs; generated events are never late."""
        from whimbrel.nexmark.settings import Settings as QuerySettings

        return QuerySettings(window_ms=milliseconds(self.window), slide_ms=milliseconds(self.slide))


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """The records of all peers asked for; ``query`` names the query, "all" for every one; the rest are sizes.
    Every system reads the same events, so ``seconds`` choose their number: ``EVENTS_PER_SECOND`` for each.

    A ratio compares records of one query and one run: ``times_native`` with the faster native one, ``of_identity``
    with the ceiling of every Python operator.
    """
    from whimbrel.nexmark.native.queries import NATIVE

    query = str(options.get("query", ""))
    if query not in (*NATIVE, "all"):
        there = ", ".join(f"nexmark-{name}" for name in NATIVE)
        raise BadInput(f"there is no benchmark of the query {query!r}: use nexmark-all or one of {there}")
    chosen = wanted(options, SYSTEMS)
    need("duckdb")
    if options.get("seconds"):
        options = {"events": max(1_000, round(EVENTS_PER_SECOND * float(options["seconds"]))), **options}
    settings = Settings(**{k: v for k, v in options.items() if k in Settings.__dataclass_fields__ and v is not None})
    queries = list(NATIVE) if query == "all" else [query]
    with folder_of_a_run() as folder, bench_session() as spark:
        results = measure_all(spark, queries, chosen, settings, folder, options)
    return {"bench": f"nexmark-{query}", "settings": _plain(settings), "results": with_ratios(results)}


def with_ratios(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ours with its rows per second over the best native record's, and over the ceiling's.

    >>> rates = {"whimbrel": 30, "native-rocksdb": 10, "native-hdfs": 15, "identity": 60}
    >>> records = [{"query": "q3", "system": name, "rows_per_second": rate} for name, rate in rates.items()]
    >>> with_ratios(records)[0]
    {'query': 'q3', 'system': 'whimbrel', 'rows_per_second': 30, 'times_native': 2.0, 'of_identity': 0.5}
    """
    ceiling = max((r["rows_per_second"] for r in results if r["system"] == "identity"), default=0)
    for record in results:
        others = [r for r in results if r["query"] == record["query"] and r["system"].startswith("native")]
        native = max((r["rows_per_second"] for r in others), default=0)
        if record["system"] == "whimbrel" and native:
            record["times_native"] = round(record["rows_per_second"] / native, 2)
        if record["system"] == "whimbrel" and ceiling:
            record["of_identity"] = round(record["rows_per_second"] / ceiling, 3)
    return results


def _plain(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in Settings.__dataclass_fields__}


def measure_all(
    spark: SparkSession,
    queries: list[str],
    systems: list[str],
    settings: Settings,
    folder: Path,
    options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Every query with every system; the ceiling is that of the bids, once."""
    bench = _Bench(spark, settings, folder)
    turns = [(query, system) for query in queries for system in systems if system != "identity"]
    turns += [(queries[0], "identity")] if "identity" in systems else []
    names = [f"{query} {system}" for query, system in turns]
    return [bench.measure(query, system) for (query, system), _ in zip(turns, announced(options, names), strict=True)]


class _Bench:
    def __init__(self, spark: SparkSession, settings: Settings, folder: Path) -> None:
        import pyarrow as pa

        from whimbrel.nexmark.events.generator import chunks
        from whimbrel.nexmark.events.rules import Rules

        self._spark, self._settings, self._folder = spark, settings, folder
        count = settings.staged_epochs * self._per_epoch
        self._rows = pa.Table.from_batches([part.interleaved() for part in chunks(0, count, Rules())])

    @property
    def _per_epoch(self) -> int:
        return max(1, self._settings.events // self._settings.epochs)

    def _rows_of(self, epochs: int) -> pa.Table:
        return self._rows.slice(0, epochs * self._per_epoch)

    def _staged(self, epochs: int) -> Path:
        """The first epochs as files. Two more end the input and let every system feel that it has ended."""
        from whimbrel.nexmark.arrivals import end_of_input, write_epochs

        folder = self._folder / f"staged-{epochs}"
        if not folder.exists():
            write_epochs(self._rows_of(epochs), folder, epochs, end_of_input(), ends=2)
        return folder

    def measure(self, query: str, system: str) -> dict[str, Any]:
        """One record of one query."""
        place = self._folder / f"{query}-{system}"
        measured, moved = self._drain(query, system, place)
        steady = measured.after(WARM_UP_EPOCHS)
        lengths = measured.between(WARM_UP_EPOCHS, WARM_UP_EPOCHS + self._settings.epochs - 1)
        first, last = moved or (1 << 60, 1 << 60)
        phases = {"before": lengths, "during": measured.between(first, last), "after": self._after(measured, last)}
        return {
            "query": query,
            "system": system,
            "rows_per_second": round(1000 * self._settings.events / sum(lengths)) if sum(lengths) else 0,
            "epochs": len(lengths),
            "epoch_ms": {name: percentiles(found) for name, found in phases.items()},
            "silence_ms": steady.longest_silence_ms(),
            "correct": None if system == "identity" else self._is_correct(query, system, place / "result"),
        }

    def _after(self, measured: Measured, last: int) -> list[float]:
        """The epochs with events that follow a migration."""
        return measured.between(last + 1, self._settings.staged_epochs - 1)

    def _drain(self, query: str, system: str, place: Path) -> tuple[Measured, tuple[int, int] | None]:
        """All epochs, and the first and the last one of the migration where there was one."""
        result, checkpoint, job = self._result(query, system, place)
        writer = result.writeStream.format("parquet").option("path", str(place / "result"))
        running = writer.option("checkpointLocation", checkpoint).start()
        follower, moved = Follower(running), None
        try:
            if job is not None and self._settings.slots > 1 and self._settings.moving:
                moved = self._migrate(job, follower)
            running.processAllAvailable()
            follower.look()
        finally:
            running.stop()
            if job is not None:
                job.close()
        return follower.measured, moved

    def _migrate(self, job: Job, follower: Follower) -> tuple[int, int]:
        """Posted once the measured epochs are committed; until nothing is under way."""
        last_steady = WARM_UP_EPOCHS + self._settings.epochs - 1
        follower.until(lambda: follower.newest >= last_steady)
        first = follower.newest + 1
        plan = job.plan(slots=self._settings.slots - 1, planner="even")
        job.apply(plan, pacing="batched", size=max(1, self._settings.bins // 4))
        follower.until(lambda: job.status().settled)
        # What ends the input closes windows and auctions all at once, which is no cost of the migration.
        return first, min(follower.newest, self._settings.staged_epochs - 1)

    def _result(self, query: str, system: str, place: Path) -> tuple[DataFrame, str, Job | None]:
        from whimbrel.nexmark.native import native_query
        from whimbrel.nexmark.queries import migratable_query
        from whimbrel.nexmark.streams import Streams, spark_schema
        from whimbrel.runtime.job import job

        reader = self._spark.readStream.schema(spark_schema()).option("maxFilesPerTrigger", "1")
        streams = Streams.of(reader.parquet(str(self._staged(self._settings.epochs_of(system)))))
        if system == "whimbrel":
            slots, bins = self._settings.slots, self._settings.bins
            ours = job(self._spark, query, max_slots=slots, bins=bins, directory=place / "job")
            result = migratable_query(query, ours, streams, self._settings.of_query())
            return result, ours.checkpoint, ours
        peers.use_provider(self._spark, peers.HDFS if system == "native-hdfs" else peers.ROCKSDB, self._settings.slots)
        native = peers.identity(streams.bid) if system == "identity" else None
        result = native if native is not None else native_query(query, streams, self._settings.of_query())
        return result, str(place / "checkpoint"), None

    def _is_correct(self, query: str, system: str, found: Path) -> bool:
        """Equal as multisets to the reference answer, without the rows that only end the input."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        from whimbrel.nexmark.reference import duckdb_answer

        settings = self._settings.of_query()
        right = duckdb_answer(
            query,
            *_kinds(self._rows_of(self._settings.epochs_of(system))),
            window_ms=settings.window_ms,
            slide_ms=settings.slide_ms,
            changes=True,
        )
        files = [str(path) for path in sorted(found.glob("*.parquet"))]
        answer = ds.dataset(files, format="parquet").to_table() if files else right.slice(0, 0)
        ended = pa.array([False] * len(answer), pa.bool_())
        for name in ("auction", "id"):
            if name in answer.schema.names:
                ended = pc.or_(ended, pc.less(answer.column(name), 0)).combine_chunks()
        return same_rows(answer.filter(pc.invert(ended)), right)


def _kinds(rows: pa.Table) -> list[pa.Table]:
    """The three flat tables of one stream of events."""
    import pyarrow as pa

    kinds = []
    for kind in ("person", "auction", "bid"):
        structs = rows.column(kind).drop_null().combine_chunks()
        structs = structs.chunk(0) if isinstance(structs, pa.ChunkedArray) else structs
        kinds.append(pa.Table.from_batches([pa.RecordBatch.from_struct_array(structs)]))
    return kinds
