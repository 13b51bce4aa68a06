"""One case per operator: Whimbrel's form, Spark's own, and what the state must hold after so many rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from whimbrel.bench.timed_stream import TimedStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whimbrel.runtime.job import Job

DELAY = "5 seconds"


@dataclass(frozen=True, slots=True)
class Case:
    """``table`` of operator ``name`` is what ``holds`` looks at."""

    name: str
    ours: Callable[[Job, DataFrame], DataFrame]
    native: Callable[[DataFrame], DataFrame]
    mode: str
    table: str
    holds: Callable[[pa.Table, TimedStream, int], bool]


def _aggregates() -> dict[str, object]:
    from whimbrel.runtime.operators.aggregates import count, sum_of

    return {"n": count(), "s": sum_of("v")}


def _windows(length: str, slide: str | None) -> Callable[[Job, DataFrame], DataFrame]:
    def ours(job: Job, rows: DataFrame) -> DataFrame:
        return job.windows(rows, "key", time="at", length=length, slide=slide, watermark=DELAY, **_aggregates())  # type: ignore[arg-type]

    return ours


def _native_windows(length: str, slide: str | None) -> Callable[[DataFrame], DataFrame]:
    def native(rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as fn

        grouped = rows.withWatermark("at", DELAY).groupBy(fn.window("at", length, slide), "key")
        return grouped.agg(fn.count("*").alias("n"), fn.sum("v").alias("s"))

    return native


def _whole_windows(length_us: int) -> Callable[[pa.Table, TimedStream, int], bool]:
    def holds(state: pa.Table, stream: TimedStream, rows: int) -> bool:
        starts = state.column("window_start").combine_chunks().view(pa.int64()).to_numpy()
        found, which = np.unique(starts, return_inverse=True)
        counts = np.bincount(which, state.column("n").to_numpy())
        return bool(found.size and (counts == stream.rows_between(found, length_us, rows)).all())

    return holds


def _sessions(job: Job, rows: DataFrame) -> DataFrame:
    return job.sessions(rows, "key", time="at", gap="2 seconds", watermark=DELAY, **_aggregates())  # type: ignore[arg-type]


def _native_sessions(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    grouped = rows.withWatermark("at", DELAY).groupBy(fn.session_window("at", "2 seconds"), "key")
    return grouped.agg(fn.count("*").alias("n"), fn.sum("v").alias("s"))


def _some_sessions(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    spans = [state.column(f"window_{edge}").combine_chunks().view(pa.int64()).to_numpy() for edge in ("start", "end")]
    return bool(state.num_rows and (spans[1] - spans[0] >= 2_000_000).all() and 0 < sum(state["n"].to_pylist()) <= rows)


def _dedup(job: Job, rows: DataFrame) -> DataFrame:
    return job.dedup(rows, "key")


def _each_key_once(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    return bool(state.num_rows == stream.distinct_keys(rows))


def _moments(job: Job, rows: DataFrame) -> DataFrame:
    from whimbrel.runtime.operators.aggregates import mean_of
    from whimbrel.runtime.operators.value_aggregates import variance_of

    return job.aggregate(rows, "key", m=mean_of("v"), spread=variance_of("v"))


def _native_moments(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    return rows.groupBy("key").agg(fn.avg("v").alias("m"), fn.variance("v").alias("spread"))


def _all_counted(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    return bool(sum(state["spread.count"].to_pylist()) == rows)


def _join(job: Job, rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    left, right = rows.where("v % 2 = 0"), rows.where("v % 2 = 1")
    right = right.select("key", fn.col("at").alias("then"), fn.col("v").alias("w"))
    times = {"left_time": "at", "right_time": "then", "within": "1 second", "watermark": DELAY}
    return job.join(left, right, "key", **times)  # type: ignore[arg-type]


def _native_join(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    left = rows.where("v % 2 = 0").withWatermark("at", DELAY)
    right = rows.where("v % 2 = 1").select(fn.col("key").alias("k"), fn.col("at").alias("then"), fn.col("v").alias("w"))
    near = "key = k AND then >= at - INTERVAL 1 SECOND AND then <= at + INTERVAL 1 SECOND"
    return left.join(right.withWatermark("then", DELAY), fn.expr(near))


def _latest_lefts(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    times = state.column("at").combine_chunks().view(pa.int64()).to_numpy()
    if not times.size:
        return False
    first = int(times.min()) // stream.step_us
    return bool(times.size == len(range(first + first % 2, rows, 2)))


SECOND = 1_000_000
CASES = {
    "tumbling": Case(
        "windows", _windows("5 seconds", None), _native_windows("5 seconds", None), "append", "windows",
        _whole_windows(5 * SECOND),
    ),
    "sliding": Case(
        "windows", _windows("10 seconds", "5 seconds"), _native_windows("10 seconds", "5 seconds"), "append", "windows",
        _whole_windows(10 * SECOND),
    ),
    "sessions": Case("sessions", _sessions, _native_sessions, "append", "sessions.rows", _some_sessions),
    "dedup": Case("dedup", _dedup, lambda rows: rows.dropDuplicates(["key"]), "append", "seen", _each_key_once),
    "moments": Case("aggregate", _moments, _native_moments, "update", "keys", _all_counted),
    "join": Case("join", _join, _native_join, "append", "left.rows", _latest_lefts),
}  # fmt: skip
