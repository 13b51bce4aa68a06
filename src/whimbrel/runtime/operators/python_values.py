"""Arrow columns as Python values and back, as a Python function sees and returns them.

Flat columns go through numpy, which makes Python values several times faster than Arrow does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.types import Row

Convert = Callable[[Any], Any]

_INSTANT, _CLOCK = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
_SIMPLE = frozenset({bool, int, float, str, bytes, type(None)})


def values_of(column: pa.Array) -> list[Any]:
    """What ``column.to_pylist()`` returns."""
    kind = column.type
    if kind == _INSTANT:
        # The moments of UTC are those of no zone: only the zone is missing.
        zone = pa.scalar(0, kind).as_py().tzinfo
        times = values_of(column.cast(_CLOCK))
        return [None if time is None else time.replace(tzinfo=zone) for time in times]
    if not (_is_flat(kind) or _knows_null(kind)):
        return column.to_pylist()  # type: ignore[no-any-return]
    if _knows_null(kind) or not column.null_count:
        return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    values: list[Any] = column.fill_null(pa.scalar(0).cast(kind)).to_numpy(zero_copy_only=False).tolist()
    for place in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
        values[place] = None
    return values


def restored(column: pa.Array) -> list[Any]:
    """Like ``values_of``, with structs as Spark rows and maps as dicts."""
    convert = _restoring(column.type)
    return values_of(column) if convert is None else [convert(value) for value in column.to_pylist()]


def dismantled(values: Sequence[Any], kind: pa.DataType) -> Sequence[Any]:
    """What ``restored`` gives, tuples for structs too, in the form that ``pa.array`` takes."""
    convert = _dismantling(kind)
    return values if convert is None else [convert(value) for value in values]


def plain(value: Any, zone: str) -> Any:
    """A value without anything of numpy or pandas in it; a time with a zone becomes one of the session's clock."""
    kind = type(value)
    if kind in _SIMPLE:
        return value
    for known, convert in _PLAIN:
        if isinstance(value, known):
            return convert(value, zone)
    return None if value is pd.NA else value


def hashable(value: Any) -> Any:
    """The value as part of a dictionary's key."""
    if isinstance(value, list):
        return tuple(hashable(part) for part in value)
    return bytes(value) if isinstance(value, bytearray) else value


def _is_flat(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _knows_null(kind: pa.DataType) -> bool:
    """Whether numpy's form of the type has a value for null that becomes None."""
    if pa.types.is_timestamp(kind):
        return bool(kind.tz is None and kind.unit == "us")
    return bool(
        pa.types.is_date32(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _plain_time(value: datetime, zone: str) -> datetime | None:
    if value is pd.NaT:
        return None
    if value.tzinfo is not None:
        value = value.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    return value.to_pydatetime(warn=False) if isinstance(value, pd.Timestamp) else value


def _plain_tuple(value: tuple[Any, ...], zone: str) -> Any:
    parts = [plain(part, zone) for part in value]
    return row(value.__fields__, parts) if isinstance(value, Row) and hasattr(value, "__fields__") else tuple(parts)


_PLAIN: tuple[tuple[Any, Callable[[Any, str], Any]], ...] = (
    (datetime, _plain_time),
    (np.datetime64, lambda value, zone: _plain_time(pd.Timestamp(value), zone)),
    (np.generic, lambda value, _: value.item()),
    (tuple, _plain_tuple),
    (list | np.ndarray, lambda value, zone: [plain(part, zone) for part in value]),
    (dict, lambda value, zone: {plain(key, zone): plain(part, zone) for key, part in value.items()}),
    (pd.Timedelta, lambda value, _: value.to_pytimedelta()),
)


def row(names: Sequence[str], values: Sequence[Any]) -> Row:
    """A Spark row."""
    made: Any = tuple.__new__(Row, values)
    made.__fields__ = names
    return made  # type: ignore[no-any-return]


def _restoring(kind: pa.DataType) -> Convert | None:
    """How a value of ``to_pylist`` becomes the one that Spark hands out; None where it is that already."""
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        parts = [_restoring(field.type) or _same for field in kind]
        return _unless_null(
            lambda value: row(names, [part(value[name]) for name, part in zip(names, parts, strict=True)])
        )
    if pa.types.is_map(kind):
        key, item = _restoring(kind.key_type) or _same, _restoring(kind.item_type) or _same
        return _unless_null(lambda value: {key(k): item(v) for k, v in value})
    element = _restoring(kind.value_type) if pa.types.is_list(kind) else None
    return None if element is None else _unless_null(lambda value: [element(part) for part in value])


def _dismantling(kind: pa.DataType) -> Convert | None:
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        parts = [_dismantling(field.type) or _same for field in kind]

        def fields(value: Any) -> dict[str, Any]:
            held = [value.get(name) for name in names] if isinstance(value, dict) else value
            return {name: part(one) for name, part, one in zip(names, parts, held, strict=True)}

        return _unless_null(fields)
    if pa.types.is_map(kind):
        key, item = _dismantling(kind.key_type) or _same, _dismantling(kind.item_type) or _same
        return _unless_null(lambda value: [(key(k), item(v)) for k, v in dict(value).items()])
    element = _dismantling(kind.value_type) if pa.types.is_list(kind) else None
    return None if element is None else _unless_null(lambda value: [element(part) for part in value])


def _unless_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
