"""From what a user writes (DataFrames, column names, DDL) to an operator value. Every fault is a BadInput here.

Nothing is started and nothing is written: a wrong argument is found before the lease is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput
from whimbrel.runtime.operator import Side
from whimbrel.runtime.operators.aggregates import Aggregate
from whimbrel.runtime.operators.expiry import Expiry
from whimbrel.runtime.operators.keyed_aggregate import KeyedAggregate
from whimbrel.runtime.operators.per_bin import PerBin, Step
from whimbrel.runtime.operators.state_machine import Fold, StateMachine
from whimbrel.runtime.schemas import arrow_of, parse_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Keys = str | Sequence[str]
Tables = Mapping[str, tuple[str, str]]


def key_columns(stream: DataFrame, key: Keys) -> list[str]:
    """The key columns as a list, each known to exist."""
    keys = [key] if isinstance(key, str) else list(key)
    if not keys:
        raise BadInput("key is empty: name at least one column")
    for k in keys:
        if k not in stream.columns:
            raise BadInput(f"there is no key column {k!r}: the stream has {', '.join(stream.columns)}")
    return keys


def build_aggregate(
    name: str, stream: DataFrame, key: Keys, aggregates: Mapping[str, Aggregate], ttl: str | None = None
) -> KeyedAggregate:
    """Vectorised aggregates per key."""
    check_aggregates(aggregates)
    return KeyedAggregate(name, key_columns(stream, key), aggregates, arrow_of(stream.schema), expiry_of(ttl))


def check_mode(output_mode: str) -> None:
    """BadInput for a mode that an operator cannot emit in; it says what to do instead of complete."""
    if output_mode == "complete":
        raise BadInput(
            "output_mode 'complete' would emit all of the state in every epoch: use 'update' and let the sink keep the "
            "newest row of every key, or read all of it when you want it with job.state(name)"
        )
    if output_mode not in ("append", "update"):
        raise BadInput(f"output_mode is {output_mode!r}: use 'append' or 'update'")


def check_aggregates(aggregates: Mapping[str, Aggregate]) -> None:
    """At least one, and each made by one of our functions."""
    if not aggregates:
        raise BadInput("aggregate needs at least one aggregate, for example n=whimbrel.count()")
    for column, aggregate in aggregates.items():
        if not isinstance(aggregate, Aggregate):
            raise BadInput(f"{column} is {aggregate!r}: it must be an aggregate such as whimbrel.count()")


def summing(aggregates: Mapping[str, Aggregate], ansi: bool) -> dict[str, Aggregate]:
    """The aggregates as the session sums: without ANSI mode integers wrap around, as Spark's do."""
    return {n: replace(a, wraps=not ansi) if isinstance(a, Aggregate) else a for n, a in aggregates.items()}


def expiry_of(ttl: str | None) -> Expiry:
    """The TTL that the user wrote, at least a millisecond."""
    ttl_ms = None if ttl is None else milliseconds(ttl)
    if ttl_ms is not None and ttl_ms < 1:
        raise BadInput(f"ttl is {ttl!r}: it must be a millisecond or more")
    return Expiry(ttl_ms)


def build_state_machine(
    name: str,
    stream: DataFrame,
    key: Keys,
    fold: Fold,
    schema: str,
    ttl: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> StateMachine:
    """A fold per key; ``schema`` names the key columns first, then the state columns."""
    keys = key_columns(stream, key)
    declared = arrow_of(parse_ddl(schema, "schema"))
    if declared.names[: len(keys)] != keys or len(declared) == len(keys):
        raise BadInput(
            f"schema {schema!r} must name the key columns ({', '.join(keys)}) first and then the state columns"
        )
    if not callable(fold):
        raise BadInput(f"fold is {fold!r}: it must be a function of (state, rows)")
    key_schema = pa.schema([arrow_of(stream.schema).field(k) for k in keys])
    state = pa.schema([declared.field(i) for i in range(len(keys), len(declared))])
    check_defaults(state, defaults or {}, "schema")
    return StateMachine(name, key_schema, state, stream.columns, fold, expiry_of(ttl), defaults)


def check_defaults(columns: pa.Schema, defaults: Mapping[str, Any], what: str) -> None:
    """Every default belongs to a column and has its type."""
    for column, value in defaults.items():
        if column not in columns.names:
            raise BadInput(f"defaults names {column!r}: {what} has the state columns {', '.join(columns.names)}")
        try:
            pa.array([value], columns.field(column).type)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise BadInput(
                f"the default of {column!r} is {value!r}: it must be {columns.field(column).type}"
            ) from error


def build_per_bin(
    name: str,
    streams: Sequence[DataFrame],
    keys: Sequence[Keys],
    step: Step,
    schema: str,
    tables: Tables,
    schedules: str | None,
    times: Sequence[str | None],
    watermark: str | None,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
) -> PerBin:
    """``unary`` (one stream) or ``binary`` (two, on keys of equal types) over Arrow batches."""
    if not callable(step):
        raise BadInput(f"step is {step!r}: it must be a function of one BinsContext")
    if watermark is not None:
        milliseconds(watermark)
        if not any(times):
            raise BadInput("a watermark needs event time: name the time column of at least one input")
    sides = [
        Side(tuple(key_columns(stream, key)), tuple(stream.columns), _time_column(stream, time))
        for stream, key, time in zip(streams, keys, times, strict=True)
    ]
    routing = pa.schema([arrow_of(streams[0].schema).field(key) for key in sides[0].keys])
    declared = {
        n: (_arrow(k, f"key of table {n!r}"), _arrow(v, f"values of table {n!r}")) for n, (k, v) in tables.items()
    }
    for table, (key_schema, _) in declared.items():
        if len(key_schema) < len(sides[0].keys):
            raise BadInput(f"the key of table {table!r} must begin with the routing key ({', '.join(sides[0].keys)})")
        _check_routing(key_schema, tuple(key_schema.names[: len(routing)]), routing, f"the key of table {table!r}")
    for table, given in (defaults or {}).items():
        if table not in declared:
            raise BadInput(f"defaults names a table {table!r}: this operator has {', '.join(declared) or 'none'}")
        check_defaults(declared[table][1], given, f"table {table!r}")
    records = None if schedules is None else _arrow(schedules, "schedules")
    if records is not None and any(key not in records.names for key in sides[0].keys):
        raise BadInput(
            f"schedules must contain the key columns ({', '.join(sides[0].keys)}): a record belongs to its key's bin"
        )
    if records is not None:
        _check_routing(records, sides[0].keys, routing, "schedules")
    return PerBin(name, sides, step, _arrow(schema, "schema"), declared, records, watermark, defaults)


def _check_routing(declared: pa.Schema, names: tuple[str, ...], keys: pa.Schema, what: str) -> None:
    """BadInput where a declared key column has a type that hashes unlike the stream's: its rows would miss their bin."""
    for name, key in zip(names, keys, strict=True):
        kind = declared.field(name).type
        if not _hash_alike(kind, key.type):
            raise BadInput(
                f"{what} declares {name!r} as {kind}, and the key column {key.name!r} of the stream is {key.type}: "
                "declare it with the type of the key, or cast the key"
            )


def _hash_alike(one: pa.DataType, other: pa.DataType) -> bool:
    integers = pa.types.is_integer(one) and pa.types.is_integer(other)
    return bool(one == other or integers or (pa.types.is_floating(one) and pa.types.is_floating(other)))


def _time_column(stream: DataFrame, time: str | None) -> str | None:
    if time is not None and time not in stream.columns:
        raise BadInput(f"there is no time column {time!r}: the stream has {', '.join(stream.columns)}")
    return time


def _arrow(text: str, what: str) -> pa.Schema:
    return arrow_of(parse_ddl(text, what))
