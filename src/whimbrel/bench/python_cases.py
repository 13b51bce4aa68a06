"""Cases of ``whimbrel bench operators`` that Spark can only do with Python per key: beside ``transformWithState``.

Its way costs about a millisecond per key, so it gets a small share of the rows and keys. Whimbrel gets all of them where
Python runs per epoch or per row, and a larger share where the user's own frames per key take most of the time: each
record has its rows per epoch, and their ratio is that of rows per second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from whimbrel.bench.counting_processor import Counting
from whimbrel.bench.operator_cases import DELAY, Case, each_key_once
from whimbrel.bench.peer_processors import Alarming, Enriching, Expiring, Meeting
from whimbrel.bench.timed_stream import TimedStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whimbrel.runtime.job import Job

PEER_SHARE = 0.02
FRAMES_SHARE = 0.2
COUNTS = "key long, n long"
MET = "key long, l long, r long"


def _fold(state: Any, rows: list[Any]) -> int:
    return (state.n if state else 0) + len(rows)


def _machine(job: Job, rows: DataFrame) -> DataFrame:
    return job.state_machine(rows, "key", _fold, COUNTS)


def _expiring_machine(job: Job, rows: DataFrame) -> DataFrame:
    return job.state_machine(rows, "key", _fold, COUNTS, ttl="1 hour")


def _processor(job: Job, rows: DataFrame) -> DataFrame:
    return job.processor(rows, "key", Counting(), COUNTS)


def _timers(job: Job, rows: DataFrame) -> DataFrame:
    times = {"time_mode": "EventTime", "time": "at", "watermark": DELAY}
    return job.processor(rows, "key", Alarming(event_time=True), COUNTS, **times)  # type: ignore[arg-type]


def _clocked(made: StatefulProcessor) -> Any:
    def ours(job: Job, rows: DataFrame) -> DataFrame:
        return job.processor(rows, "key", made, COUNTS, time_mode="ProcessingTime")

    return ours


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


def _binary(job: Job, rows: DataFrame) -> DataFrame:
    left, right = (rows.where(f"v % 2 = {side}").select("key") for side in (0, 1))
    return job.binary(left, right, "key", "key", _meet, MET, tables={"met": ("key long", "l long, r long")})


def _meet(context: Any) -> Any:
    sides = [
        pa.table({"key": rows.column("key"), **_marks(rows.num_rows, side)})
        for side, rows in enumerate((context.rows, context.others))
        if rows.num_rows
    ]
    if not sides:
        return None
    counted = pa.concat_tables(sides).group_by("key").aggregate([("l", "sum"), ("r", "sum")])
    after = counted.select(["key"])
    before = context.table("met").get(after)
    for side in ("l", "r"):
        after = after.append_column(side, pa.compute.add(before.column(side).fill_null(0), counted[f"{side}_sum"]))
    context.table("met").put(after)
    return after


def _marks(rows: int, side: int) -> dict[str, Any]:
    return {"l": np.full(rows, 1 - side), "r": np.full(rows, side)}


def _enrich(job: Job, rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    table = rows.where("v % 100 = 0").select("key", fn.col("v").alias("w"))
    return job.enrich(rows.where("v % 100 != 0").select("key", "v"), table, "key")


def _native(made: StatefulProcessor, schema: str = COUNTS, mode: str = "None") -> Any:
    def native(rows: DataFrame) -> DataFrame:
        timed = rows.withWatermark("at", DELAY) if mode == "EventTime" else rows
        return timed.groupBy("key").transformWithStateInPandas(made, schema, "append", mode)

    return native


def _all_counted(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    return bool(sum(state["n"].to_pylist()) == rows and each_key_once(state, stream, rows))


def _all_kept(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    counts = [entries[0]["v0"] for entries in state["n"].to_pylist()]
    return bool(sum(counts) == rows and each_key_once(state, stream, rows))


def _all_met(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    counts = sum(state["l"].to_pylist()) + sum(state["r"].to_pylist())
    return bool(counts == rows and each_key_once(state, stream, rows))


def _values_of_the_table(state: pa.Table, stream: TimedStream, rows: int) -> bool:
    found = state["w"].to_pylist()
    return bool(found and all(value % 100 == 0 for value in found) and state.num_rows <= stream.distinct_keys(rows))


def _case(name: str, ours: Any, native: Any, table: str, holds: Any, share: float = 1.0) -> Case:
    return Case(name, ours, native, "append", table, holds, "transformwithstate", share, PEER_SHARE)


def _processor_case(ours: Any, native: Any) -> Case:
    return _case("processor", ours, native, "keys", _all_kept, FRAMES_SHARE)


CLOCK = "ProcessingTime"
ENRICHED = "key long, v long, w long"
CASES = {
    "state-machine": _case("state_machine", _machine, _native(Counting()), "keys", _all_counted),
    "state-machine-ttl": _case(
        "state_machine", _expiring_machine, _native(Expiring(), mode=CLOCK), "keys", _all_counted
    ),
    "unary": _case("unary", _unary, _native(Counting()), "state", _all_counted),
    "binary": _case("binary", _binary, _native(Meeting(), MET), "met", _all_met),
    "processor": _processor_case(_processor, _native(Counting())),
    "processor-ttl": _processor_case(_clocked(Expiring()), _native(Expiring(), mode=CLOCK)),
    "timers": _processor_case(_timers, _native(Alarming(event_time=True), mode="EventTime")),
    "timers-processing-time": _processor_case(
        _clocked(Alarming(event_time=False)), _native(Alarming(event_time=False), mode=CLOCK)
    ),
    "enrich": _case("enrich", _enrich, _native(Enriching(), ENRICHED), "values", _values_of_the_table),
}
