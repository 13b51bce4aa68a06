"""Times at the border of user code: instants in UTC at rest, and without a zone, in the session's, where user code sees them.

Both ways go through nested types. A time that the clock of the zone shows twice is the later one, as in Spark; one that
it never shows is the moment at which it jumps.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc


def to_local(array: pa.Array, zone: str) -> pa.Array:
    """The array with every instant as the time that the zone's clock shows."""
    return _mapped(array, local_type(array.type), lambda times, _: pc.local_timestamp(_in_zone(times, zone)))


def to_instants(array: pa.Array, kind: pa.DataType, zone: str) -> pa.Array:
    """The array of ``local_type(kind)`` as the type ``kind``: every time of the zone's clock becomes an instant."""

    def at(times: pa.Array, instant: pa.DataType) -> pa.Array:
        return pc.assume_timezone(times, zone, ambiguous="latest", nonexistent="latest").cast(instant)

    return _mapped(array, kind, at)


def local_type(kind: pa.DataType) -> pa.DataType:
    """The type without any zone."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(local_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_local_field(kind.key_field), _local_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_local_field(kind.value_field))
    return kind


def _local_field(field: pa.Field) -> pa.Field:
    return field.with_type(local_type(field.type))


def _in_zone(times: pa.Array, zone: str) -> pa.Array:
    return times.cast(pa.timestamp(times.type.unit, zone))


def _mapped(array: pa.Array, kind: pa.DataType, convert: Callable[[pa.Array, pa.DataType], pa.Array]) -> pa.Array:
    """The array with another type, which differs from its own in timestamps only."""
    if array.type == kind:
        return array
    if pa.types.is_timestamp(kind):
        return convert(array, kind)
    if pa.types.is_struct(kind):
        children = [_mapped(array.field(i), kind.field(i).type, convert) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    inner = pa.struct([kind.key_field, kind.item_field]) if pa.types.is_map(kind) else kind.value_type
    child = _mapped(_children(array), inner, convert)
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=[child])


def _children(array: pa.Array) -> pa.Array:
    """All elements of a list or map, also those before its offset."""
    if not pa.types.is_map(array.type):
        return array.values
    fields = [array.type.key_field, array.type.item_field]
    return pa.StructArray.from_arrays([array.keys, array.items], fields=fields)
