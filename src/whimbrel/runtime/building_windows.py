"""From what a user writes to the operators of event time. Every fault is a BadInput here, before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput
from whimbrel.runtime.building import Keys, check_aggregates, check_mode, key_columns
from whimbrel.runtime.operators.aggregates import Aggregate
from whimbrel.runtime.operators.sessions import SessionAggregate
from whimbrel.runtime.operators.windows import END, START, WindowedAggregate, WindowShape
from whimbrel.runtime.schemas import arrow_of

ALL = "_all"

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def build_windows(
    name: str,
    stream: DataFrame,
    key: Keys,
    time: str,
    length: str,
    slide: str | None,
    offset: str | None,
    aggregates: Mapping[str, Aggregate],
    watermark: str | None,
    output_mode: str,
) -> WindowedAggregate:
    """Tumbling windows, or sliding ones where ``slide`` is given."""
    check_aggregates(aggregates)
    check_event_time(stream, time)
    check_output_mode(output_mode, watermark)
    length_us = micros(length, "length")
    slide_us = length_us if slide is None else micros(slide, "slide")
    if slide_us > length_us:
        raise BadInput(f"slide {slide!r} is longer than the window ({length!r}): rows between windows would be lost")
    shape = WindowShape(length_us, slide_us, 0 if offset is None else milliseconds(offset) * 1000)
    keys, schema = key_columns(stream, key), arrow_of(stream.schema)
    return WindowedAggregate(name, keys, time, shape, aggregates, schema, watermark, output_mode == "append")


def build_sessions(
    name: str,
    stream: DataFrame,
    key: Keys,
    time: str,
    gap: str,
    aggregates: Mapping[str, Aggregate],
    watermark: str,
) -> SessionAggregate:
    """Session windows."""
    check_aggregates(aggregates)
    check_event_time(stream, time)
    check_output_mode("append", watermark)
    keys, schema = key_columns(stream, key), arrow_of(stream.schema)
    return SessionAggregate(name, keys, time, micros(gap, "gap"), aggregates, schema, watermark)


def keyed(stream: DataFrame, key: Keys | None) -> tuple[DataFrame, Keys]:
    """The stream and its key; where there is none, with one key for all rows, which no result shows."""
    from pyspark.sql import functions as fn

    if key is not None and (isinstance(key, str) or key):
        return stream, key
    if ALL in stream.columns:
        raise BadInput(f"the stream has a column {ALL!r}, which windows without a key need: rename it")
    return stream.withColumn(ALL, fn.lit(True)), ALL


def with_window_column(result: DataFrame) -> DataFrame:
    """The result as Spark gives it: a struct of start and end in the place of two columns, and no key for all rows."""
    from pyspark.sql import functions as fn

    window = fn.struct(fn.col(START).alias("start"), fn.col(END).alias("end")).alias("window")
    return result.select(window, *(fn.col(f"`{name}`") for name in result.columns if name not in (START, END, ALL)))


def check_event_time(stream: DataFrame, time: str) -> None:
    """The event time column exists and is a timestamp."""
    if time not in stream.columns:
        raise BadInput(f"there is no time column {time!r}: the stream has {', '.join(stream.columns)}")
    kind = arrow_of(stream.schema).field(time).type
    if not pa.types.is_timestamp(kind):
        raise BadInput(f"time column {time!r} is {kind}: event time must be a timestamp; cast it")


def check_output_mode(output_mode: str, watermark: str | None) -> None:
    """Append needs a watermark: without one no window is ever final."""
    check_mode(output_mode)
    if output_mode == "append" and watermark is None:
        raise BadInput("append emits a window when the watermark closes it: give watermark='10 seconds', or use update")
    if watermark is not None:
        milliseconds(watermark)


def micros(duration: str, what: str) -> int:
    """A duration of at least a millisecond, in microseconds."""
    found = milliseconds(duration)
    if found < 1:
        raise BadInput(f"{what} is {duration!r}: it must be a millisecond or more")
    return found * 1000
