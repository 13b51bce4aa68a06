"""Cases of ``whimbrel bench operators`` per key: every aggregate, beside Spark's own aggregate functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.bench.operator_cases import Case, each_key_once
from whimbrel.bench.timed_stream import TimedStream

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from whimbrel.runtime.job import Job

FEW = 3


def _ours(make: Callable[[], dict[str, Any]]) -> Callable[[Job, DataFrame], DataFrame]:
    def ours(job: Job, rows: DataFrame) -> DataFrame:
        return job.aggregate(rows, "key", **make())

    return ours


def _native(make: Callable[[Any], list[Column]]) -> Callable[[DataFrame], DataFrame]:
    def native(rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as fn

        return rows.groupBy("key").agg(*make(fn))

    return native


def _case(
    ours: Callable[[], dict[str, Any]], native: Callable[[Any], list[Column]], holds: Any = each_key_once
) -> Case:
    return Case("aggregate", _ours(ours), _native(native), "update", "keys", holds)


def _counts() -> dict[str, Any]:
    import whimbrel as wb

    return {"n": wb.count(), "s": wb.sum_of("v")}


def _extremes() -> dict[str, Any]:
    import whimbrel as wb

    return {"lo": wb.min_of("v"), "hi": wb.max_of("v")}


def _ends() -> dict[str, Any]:
    import whimbrel as wb

    return {"first": wb.first_of("v", "at"), "last": wb.last_of("v", "at")}


def _moments() -> dict[str, Any]:
    import whimbrel as wb

    return {"m": wb.mean_of("v"), "spread": wb.variance_of("v")}


def _top() -> dict[str, Any]:
    import whimbrel as wb

    return {"top": wb.top("v", FEW)}


def _distinct() -> dict[str, Any]:
    import whimbrel as wb

    return {"d": wb.count_distinct("v")}


def _sketch() -> dict[str, Any]:
    import whimbrel as wb

    return {"d": wb.approx_count_distinct("v")}


def _collected() -> dict[str, Any]:
    import whimbrel as wb

    return {"some": wb.collect("v", 10)}


def _all_in(column: str) -> Callable[[pa.Table, TimedStream, int], bool]:
    def holds(state: pa.Table, stream: TimedStream, rows: int) -> bool:
        return bool(sum(state[column].to_pylist()) == rows and each_key_once(state, stream, rows))

    return holds


CASES = {
    "count": _case(_counts, lambda fn: [fn.count("*").alias("n"), fn.sum("v").alias("s")], _all_in("n")),
    "extremes": _case(_extremes, lambda fn: [fn.min("v"), fn.max("v")]),
    "first-last": _case(_ends, lambda fn: [fn.min_by("v", "at"), fn.max_by("v", "at")]),
    "moments": _case(_moments, lambda fn: [fn.avg("v"), fn.variance("v")], _all_in("spread.count")),
    "top": _case(_top, lambda fn: [fn.slice(fn.sort_array(fn.collect_list("v"), asc=False), 1, FEW)]),
    "distinct": _case(_distinct, lambda fn: [fn.size(fn.collect_set("v"))]),
    "sketch": _case(_sketch, lambda fn: [fn.approx_count_distinct("v", 0.05)]),
    "collect": _case(_collected, lambda fn: [fn.slice(fn.collect_list("v"), 1, 10)]),
}
