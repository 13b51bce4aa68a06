"""From an existing ``StatefulProcessor`` to an operator. Every fault is a BadInput here, before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput
from whimbrel.runtime.building import Keys, key_columns
from whimbrel.runtime.building_windows import check_event_time
from whimbrel.runtime.operators.processor import Processor, ProcessorTime
from whimbrel.runtime.schemas import arrow_of, parse_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MODES = ("None", "ProcessingTime", "EventTime")


def build_processor(
    name: str,
    stream: DataFrame,
    key: Keys,
    processor: StatefulProcessor,
    schema: str,
    time_mode: str,
    time: str | None,
    watermark: str | None,
    zone: str,
    begins: bool = False,
) -> Processor:
    """The processor with its state in bins; its ``init`` runs here once, to learn what state it declares."""
    if not isinstance(processor, StatefulProcessor):
        raise BadInput(f"processor is {processor!r}: it must be a pyspark StatefulProcessor")
    if time_mode not in _MODES:
        raise BadInput(f"time_mode is {time_mode!r}: use one of {', '.join(_MODES)}")
    if (time_mode == "EventTime") != (time is not None and watermark is not None):
        raise BadInput("time_mode 'EventTime' goes with time and watermark: give all three, or none of them")
    if time is not None and watermark is not None:
        check_event_time(stream, time)
        milliseconds(watermark)
    if begins and type(processor).handleInitialState is StatefulProcessor.handleInitialState:
        raise BadInput(f"{type(processor).__name__} has no handleInitialState: it says what initial rows mean")
    output = arrow_of(parse_ddl(schema, "schema"))
    times = ProcessorTime(time_mode, time, watermark, zone)
    return Processor(name, key_columns(stream, key), arrow_of(stream.schema), processor, output, times)
