"""The stream as a Spark data source: ``spark.readStream.format("nexmark")``.

Open loop: event n is due at a time that the schedule fixes when the query first starts, and the source never
slows down with the system behind it. The column ``due`` says when, so that latency is measured from the time an
event should have come, not from the time the system got round to asking for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.chance import Integers
from whimbrel.nexmark.events.generator import CHUNK, generate, generate_kind
from whimbrel.nexmark.events.rules import Rules
from whimbrel.nexmark.events.schedule import Schedule
from whimbrel.nexmark.events.schema import EVENT, KINDS, TIME
from whimbrel.nexmark.streams import Streams, spark_schema

Offset = dict[str, Any]
_NAMES = "kind events rate eventRate shape high period trace traceRow traceColumn perEpoch preload first partitions seed outOfOrder"
OPTIONS = tuple(_NAMES.split())
"""The options that the source understands; Spark hands them over in any letter case."""


def register(spark: SparkSession) -> None:
    """Makes the format ``nexmark`` known to a session."""
    spark.dataSource.register(NexmarkSource)


def stream(spark: SparkSession, **options: Any) -> Streams:
    """The generator as streaming DataFrames: all events, and each kind by itself. Options as the source has them.

    ``stream(spark, rate=1000, shape="sine", high=5000)``. Raises BadInput for options that no stream can have.
    """
    given = {name: str(value) for name, value in options.items()}
    if "trace" in given:
        # Spark reads the options in processes of its own, which may run in another folder.
        given["trace"] = str(Path(given["trace"]).absolute())
    Plan.of(given)
    register(spark)
    return Streams.of(spark.readStream.format("nexmark").options(**given).load())


@dataclass(frozen=True, slots=True)
class Plan:
    """What the options ask for. Raises BadInput for options that no stream can have."""

    kind: str
    events: int | None
    schedule: Schedule | None
    per_epoch: int | None
    preload: int
    first: int
    partitions: int
    rules: Rules

    @staticmethod
    def of(options: Mapping[str, str]) -> Plan:
        """The plan of a source's options."""
        given = {key.lower(): value for key, value in options.items()}
        known = {name.lower() for name in OPTIONS}
        strangers = sorted(set(given) - known - {"path"})
        if strangers:
            raise BadInput(f"the nexmark source has no option {strangers[0]!r}: it has {', '.join(OPTIONS)}")
        kind = given.get("kind", "event")
        if kind not in (*KINDS, "event"):
            raise BadInput(f"kind {kind!r}: use event, person, auction or bid")
        rules = Rules(
            seed=_whole(given, "seed", 0, 0) or 0,
            rate=_whole(given, "eventrate", 10_000, 1) or 10_000,
            out_of_order=_whole(given, "outoforder", 1, 1) or 1,
        )
        events, per_epoch = _whole(given, "events", None, 0), _whole(given, "perepoch", None, 1)
        schedule = _schedule(given)
        if schedule is None and (events is None or per_epoch is None):
            raise BadInput("the nexmark source needs a rate, or both events and perEpoch")
        return Plan(
            kind,
            events,
            schedule,
            per_epoch,
            _whole(given, "preload", 0, 0) or 0,
            _whole(given, "first", 0, 0) or 0,
            _whole(given, "partitions", 2, 1) or 2,
            rules,
        )

    def due_us(self, positions: Integers) -> Integers:
        """Microseconds after the start at which events are due; the preload is due at the start."""
        assert self.schedule is not None
        return self.schedule.due_us(np.maximum(positions - self.preload, 0))


def _whole(given: Mapping[str, str], name: str, default: int | None, least: int) -> int | None:
    if name not in given:
        return default
    try:
        value = int(given[name])
    except ValueError:
        raise BadInput(f"{name} is {given[name]!r}: it must be a whole number") from None
    if value < least:
        raise BadInput(f"{name} is {value}: it must be at least {least}")
    return value


def _real(given: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(given.get(name, default))
    except ValueError:
        raise BadInput(f"{name} is {given[name]!r}: it must be a number of events a second") from None


def _schedule(given: Mapping[str, str]) -> Schedule | None:
    if "rate" not in given:
        return None
    rate, shape = _real(given, "rate", 0.0), given.get("shape", "flat")
    high = _real(given, "high", 2 * rate)
    period_s = milliseconds(given.get("period", "10 minutes")) / 1000
    if shape == "trace":
        if "trace" not in given:
            raise BadInput("shape 'trace' needs the option trace: the path of a CSV file")
        row_s = milliseconds(given.get("tracerow", "1 second")) / 1000
        return Schedule.trace(given["trace"], rate, row_s, given.get("tracecolumn"))
    shapes = {
        "flat": lambda: Schedule.flat(rate),
        "step": lambda: Schedule.step(rate, high, period_s),
        "sine": lambda: Schedule.sine(rate, high, period_s),
    }
    if shape not in shapes:
        raise BadInput(f"shape {shape!r} is unknown: use flat, step, sine or trace")
    return shapes[shape]()


class NexmarkSource(DataSource):
    """The streaming source. See the reference page for its options."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "nexmark"

    def schema(self) -> StructType:
        """The kind's columns (or the three structs), the event's number and the instant at which it was due."""
        kind = Plan.of(self.options).kind
        fields = spark_schema(None if kind == "event" else kind).fields
        return StructType([*fields, StructField("number", LongType()), StructField("due", TimestampType())])

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader of one query."""
        return NexmarkReader(Plan.of(self.options))


@dataclass(frozen=True)
class Slice(InputPartition):
    """A run of positions that one task makes. ``started_us`` is 0 where nothing is due at any time."""

    first: int
    count: int
    started_us: int


class NexmarkReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are (events so far, when the query first started): a restart goes on with the old schedule."""

    def __init__(self, plan: Plan, clock_us: Any = lambda: time.time_ns() // 1000) -> None:
        self._plan = plan
        self._clock_us = clock_us
        self._last: int | None = plan.events
        self._to_the_end = False

    def initialOffset(self) -> Offset:  # noqa: N802
        """Nothing yet, starting now."""
        return {"events": self._plan.first, "started_us": self._clock_us() if self._plan.schedule else 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """At most ``perEpoch`` events an epoch, where the option is given."""
        return ReadAllAvailable() if self._plan.per_epoch is None else ReadMaxRows(self._plan.per_epoch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """A bounded stream runs to its end, whatever is due by now. An endless one has none, so it is refused."""
        if self._last is None:
            raise BadInput("an endless nexmark stream cannot run with availableNow: give it the option events")
        self._to_the_end = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Every event that is due by now, or every one with availableNow, within the limit and the stream's end."""
        schedule, begun = self._plan.schedule, int(start["events"])
        until = (
            self._last
            if schedule is None or self._to_the_end
            else self._plan.preload + schedule.due_by(self._clock_us() - int(start["started_us"]))
        )
        assert until is not None
        if isinstance(limit, ReadMaxRows):
            until = min(until, begun + limit.max_rows)
        if self._last is not None:
            until = min(until, self._last)
        return {"events": max(until, begun), "started_us": int(start["started_us"])}

    def partitions(self, start: Offset, end: Offset) -> Sequence[Slice]:
        """The new events in equal contiguous slices."""
        first, last = int(start["events"]), int(end["events"])
        cuts = np.linspace(first, last, self._plan.partitions + 1).astype(np.int64).tolist()
        return [Slice(low, high - low, int(end["started_us"])) for low, high in pairwise(cuts) if high > low]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a slice as Arrow batches."""
        assert isinstance(partition, Slice)
        for first in range(partition.first, partition.first + partition.count, CHUNK):
            count = min(CHUNK, partition.first + partition.count - first)
            yield _batch(self._plan, first, count, partition.started_us)


def _batch(plan: Plan, first: int, count: int, started_us: int) -> pa.RecordBatch:
    if plan.kind == "event":
        rows, schema, positions = generate(first, count, plan.rules).interleaved(), EVENT, np.arange(count)
    else:
        rows, positions = generate_kind(plan.kind, first, count, plan.rules)
        schema = KINDS[plan.kind]
    number = pa.array(first + positions)
    due = pa.nulls(len(positions), TIME)
    if plan.schedule is not None:
        due = pa.array(started_us + plan.due_us(first + positions)).cast(TIME)
    fields = [*schema, pa.field("number", pa.int64()), pa.field("due", TIME)]
    return pa.RecordBatch.from_arrays([*rows.columns, number, due], schema=pa.schema(fields))
