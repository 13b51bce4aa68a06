"""Cases of ``whimbrel bench operators``: Whimbrel's form, Spark's own, and what the state must hold after so many rows.

Here are windows, sessions, dedup and joins, beside Spark's own operators in the JVM.
"""

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
    """``table`` of operator ``name`` is what ``holds`` looks at.

    ``peer`` is the native way that it stands beside. ``share`` is the part of the rows and keys that Whimbrel gets,
    ``peer_share`` the native way's: a way that needs a millisecond per key cannot be given as many.
    """

    name: str
    ours: Callable[[Job, DataFrame], DataFrame]
    native: Callable[[DataFrame], DataFrame]
    mode: str
    table: str
    holds: Callable[[pa.Table, TimedStream, int], bool]
    peer: str = "native-rocksdb"
    share: float = 1.0
    peer_share: float = 1.0


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


def _dedup(key: list[str], **times: str) -> Callable[[Job, DataFrame], DataFrame]:
    def ours(job: Job, rows: DataFrame) -> DataFrame:
        return job.dedup(rows, key, **times)

    return ours


def each_key_once(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    """As many rows of state as there were keys."""
    return bool(state.num_rows == stream.distinct_keys(rows))


def _latest_times(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    times = state.column("at").combine_chunks().view(pa.int64()).to_numpy()
    return bool(times.size and times.size == rows - int(times.min()) // stream.step_us)


def _no_key_twice(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    keys = state.column("key").to_numpy()
    return bool(0 < keys.size == np.unique(keys).size <= stream.distinct_keys(rows))


def _join(how: str, within: str | None = "1 second") -> Callable[[Job, DataFrame], DataFrame]:
    def ours(job: Job, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as fn

        left, right = rows.where("v % 2 = 0"), rows.where("v % 2 = 1")
        right = right.select("key", fn.col("at").alias("then"), fn.col("v").alias("w"))
        times = {"left_time": "at", "right_time": "then", "within": within, "watermark": DELAY}
        return job.join(left, right, "key", how=how, **(times if within else {}))  # type: ignore[arg-type]

    return ours


def _native_join(how: str, bounded: bool = True) -> Callable[[DataFrame], DataFrame]:
    def native(rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as fn

        left, right = rows.where("v % 2 = 0"), rows.where("v % 2 = 1")
        right = right.select(fn.col("key").alias("k"), fn.col("at").alias("then"), fn.col("v").alias("w"))
        if not bounded:
            return left.join(right, fn.expr("key = k"), how)
        near = "key = k AND then >= at - INTERVAL 1 SECOND AND then <= at + INTERVAL 1 SECOND"
        return left.withWatermark("at", DELAY).join(right.withWatermark("then", DELAY), fn.expr(near), how)

    return native


def _all_lefts(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    return bool(state.num_rows == (rows + 1) // 2)


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
    "dedup": Case(
        "dedup", _dedup(["key"]), lambda rows: rows.dropDuplicates(["key"]), "append", "seen", each_key_once
    ),
    "dedup-watermark": Case(
        "dedup", _dedup(["key", "at"], time="at", watermark=DELAY),
        lambda rows: rows.withWatermark("at", DELAY).dropDuplicates(["key", "at"]), "append", "seen", _latest_times,
    ),
    "dedup-within": Case(
        "dedup", _dedup(["key"], time="at", watermark=DELAY),
        lambda rows: rows.withWatermark("at", DELAY).dropDuplicatesWithinWatermark(["key"]), "append", "seen",
        _no_key_twice,
    ),
    "join": Case("join", _join("inner"), _native_join("inner"), "append", "left.rows", _latest_lefts),
    "join-left": Case("join", _join("left"), _native_join("leftOuter"), "append", "left.rows", _latest_lefts),
    "join-right": Case("join", _join("right"), _native_join("rightOuter"), "append", "left.rows", _latest_lefts),
    "join-full": Case("join", _join("full"), _native_join("fullOuter"), "append", "left.rows", _latest_lefts),
    "join-unbounded": Case(
        "join", _join("inner", None), _native_join("inner", False), "append", "left.rows", _all_lefts
    ),
}  # fmt: skip
