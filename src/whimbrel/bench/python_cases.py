"""Cases of ``whimbrel bench operators`` that Spark can only do with Python per key: beside ``transformWithState``.

Its way costs about a millisecond per key, so both systems get a small share of the rows and keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from whimbrel.bench.counting_processor import Counting
from whimbrel.bench.operator_cases import DELAY, Case, each_key_once
from whimbrel.bench.timed_stream import TimedStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whimbrel.runtime.job import Job

SHARE = 0.02
COUNTS = "key long, n long"


class Alarming(StatefulProcessor):
    """A timer per key, a second of event time after its newest row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._count = handle.getValueState("n", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Count, and set the alarm."""
        total = (self._count.get()[0] if self._count.exists() else 0) + sum(len(frame) for frame in rows)
        self._count.update((total,))
        self._handle.registerTimer(timerValues.getCurrentWatermarkInMs() + 1000)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Ring."""
        yield pd.DataFrame({"key": [key[0]], "n": [self._count.get()[0]]})

    def close(self) -> None:
        """Nothing to close."""


class Enriching(StatefulProcessor):
    """Rows whose value is a multiple of 100 are the table's; the others meet the newest of them."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._value = handle.getValueState("w", "w long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Table rows first, as Whimbrel's enrich does."""
        frame = pd.concat(list(rows))
        news, facts = frame[frame["v"] % 100 == 0], frame[frame["v"] % 100 != 0]
        if len(news):
            self._value.update((int(news["v"].iloc[-1]),))
        held = self._value.get()
        yield pd.DataFrame({"key": key[0], "v": facts["v"], "w": held[0] if held else None})

    def close(self) -> None:
        """Nothing to close."""


def _fold(state: Any, rows: list[Any]) -> int:
    return (state.n if state else 0) + len(rows)


def _machine(job: Job, rows: DataFrame) -> DataFrame:
    return job.state_machine(rows, "key", _fold, COUNTS)


def _processor(job: Job, rows: DataFrame) -> DataFrame:
    return job.processor(rows, "key", Counting(), COUNTS)


def _timers(job: Job, rows: DataFrame) -> DataFrame:
    times = {"time_mode": "EventTime", "time": "at", "watermark": DELAY}
    return job.processor(rows, "key", Alarming(), COUNTS, **times)  # type: ignore[arg-type]


def _unary(job: Job, rows: DataFrame) -> DataFrame:
    return job.unary(rows, "key", _add, COUNTS, tables={"state": ("key long", "n long")})


def _add(context: Any) -> Any:
    if not context.rows.num_rows:
        return None
    counted = pa.Table.from_batches([context.rows]).group_by("key").aggregate([([], "count_all")])
    keys = counted.select(["key"])
    before = context.table().get(keys).column("n").fill_null(0)
    after = keys.append_column("n", pa.compute.add(before, counted["count_all"]))
    context.table().put(after)
    return after


def _enrich(job: Job, rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    table = rows.where("v % 100 = 0").select("key", fn.col("v").alias("w"))
    return job.enrich(rows.where("v % 100 != 0").select("key", "v"), table, "key")


def _counting(rows: DataFrame) -> DataFrame:
    return rows.groupBy("key").transformWithStateInPandas(Counting(), COUNTS, "append", "None")


def _alarming(rows: DataFrame) -> DataFrame:
    timed = rows.withWatermark("at", DELAY).groupBy("key")
    return timed.transformWithStateInPandas(Alarming(), COUNTS, "append", "EventTime")


def _enriching(rows: DataFrame) -> DataFrame:
    return rows.groupBy("key").transformWithStateInPandas(Enriching(), "key long, v long, w long", "append", "None")


def _all_counted(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    return bool(sum(state["n"].to_pylist()) == rows and each_key_once(state, stream, rows))


def _all_kept(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    counts = [entries[0]["v0"] for entries in state["n"].to_pylist()]
    return bool(sum(counts) == rows and each_key_once(state, stream, rows))


def _values_of_the_table(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    found = state["w"].to_pylist()
    return bool(found and all(value % 100 == 0 for value in found) and state.num_rows <= stream.distinct_keys(rows))


def _case(name: str, ours: Any, native: Any, table: str, holds: Any) -> Case:
    return Case(name, ours, native, "append", table, holds, "transformwithstate", SHARE)


CASES = {
    "state-machine": _case("state_machine", _machine, _counting, "keys", _all_counted),
    "unary": _case("unary", _unary, _counting, "state", _all_counted),
    "processor": _case("processor", _processor, _counting, "keys", _all_kept),
    "timers": _case("processor", _timers, _alarming, "keys", _all_kept),
    "enrich": _case("enrich", _enrich, _enriching, "values", _values_of_the_table),
}
