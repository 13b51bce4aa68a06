"""From what a user writes to dedup, joins and enrichment. Every fault is a BadInput here, before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput
from whimbrel.runtime.building import Keys, key_columns
from whimbrel.runtime.building_windows import check_event_time
from whimbrel.runtime.operators.dedup import Dedup
from whimbrel.runtime.operators.enrichment import Enrichment
from whimbrel.runtime.operators.stream_join import OUTER, JoinInput, StreamJoin, Within
from whimbrel.runtime.schemas import arrow_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def build_dedup(
    name: str, stream: DataFrame, key: Keys, time: str | None, watermark: str | None, begins: bool = False
) -> Dedup:
    """The first row of every key."""
    keys = key_columns(stream, key)
    if (time is None) != (watermark is None):
        raise BadInput("time and watermark belong together: give both, or neither to remember every key for good")
    if time is not None and watermark is not None:
        check_event_time(stream, time)
        milliseconds(watermark)
    if begins and time is not None and time not in keys:
        raise BadInput(
            f"initial keys have no time to be forgotten by: name {time!r} among the keys, or leave initial out"
        )
    return Dedup(name, keys, arrow_of(stream.schema), time, watermark)


def build_join(
    name: str,
    left: DataFrame,
    right: DataFrame,
    keys: tuple[Keys, Keys],
    how: str,
    times: tuple[str | None, str | None],
    delays: tuple[str | None, str | None],
    within: str | tuple[str, str] | None,
) -> StreamJoin:
    """Two streams on equal keys of equal types, with or without a bound in time."""
    if how not in OUTER:
        raise BadInput(f"how is {how!r}: use one of {', '.join(OUTER)}")
    if within is None and how != "inner":
        raise BadInput(
            f"a {how} join must know when no partner can come any more: give within, left_time, right_time and watermark"
        )
    if within is None and any(given is not None for given in (*times, *delays)):
        raise BadInput(
            "left_time, right_time and watermark bound a join only together with within: give within='10 seconds', or "
            "leave them out to remember both streams for good"
        )
    left_keys, right_keys = key_columns(left, keys[0]), key_columns(right, keys[1])
    if within is not None:
        for stream, time, delay, column in zip((left, right), times, delays, (left_keys, right_keys), strict=True):
            _check_bounded(stream, time, delay, column)
    _check_names(left, right, left_keys, right_keys)
    inputs = [
        JoinInput(tuple(columns), arrow_of(stream.schema), time, delay)
        for columns, stream, time, delay in zip((left_keys, right_keys), (left, right), times, delays, strict=True)
    ]
    return StreamJoin(name, inputs[0], inputs[1], how, None if within is None else _within(within))


def build_enrichment(name: str, stream: DataFrame, table: DataFrame, keys: tuple[Keys, Keys], how: str) -> Enrichment:
    """A stream against a table that a stream keeps up to date, on keys of equal types."""
    if how not in ("left", "inner"):
        raise BadInput(f"how is {how!r}: use 'left' or 'inner'")
    stream_keys, table_keys = key_columns(stream, keys[0]), key_columns(table, keys[1])
    _check_names(stream, table, stream_keys, table_keys)
    return Enrichment(name, arrow_of(stream.schema), arrow_of(table.schema), stream_keys, table_keys, how)


def _within(within: str | tuple[str, str]) -> Within:
    before, after = (within, within) if isinstance(within, str) else within
    return Within(-milliseconds(before) * 1000, milliseconds(after) * 1000)


def _check_bounded(stream: DataFrame, time: str | None, delay: str | None, keys: list[str]) -> None:
    if time is None or delay is None:
        raise BadInput("within bounds the time between partners: give left_time, right_time and watermark as well")
    check_event_time(stream, time)
    milliseconds(delay)
    if time in keys:
        raise BadInput(f"time column {time!r} is also a key: join on the other columns and bound the time by within")


def _check_names(left: DataFrame, right: DataFrame, left_keys: list[str], right_keys: list[str]) -> None:
    others = [column for column in right.columns if column not in right_keys]
    both = sorted(set(left.columns) & set(others) | set(left_keys) & set(others))
    if both:
        raise BadInput(f"both inputs have a column {both[0]!r}: rename it on one side with withColumnRenamed")
