"""Events from files in their order of arrival, checked: what ``whimbrel nexmark run`` feeds to a query.

JSON lines arrive in the order of the lines, and files in the order of their names. In three folders the order
between kinds is not written down: they are merged by the latest time that each has reached, so that a late
event is as late as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.chance import Integers
from whimbrel.nexmark.events.schema import END_TIME, EVENT, FIRST_TIME, KINDS, LAST_TIME, TIME
from whimbrel.nexmark.json_lines import read_lines

_BLOCK = 1 << 24
_LINES = (".json", ".jsonl", ".ndjson")
_EARLIEST_US, _LATEST_US = (int(each.timestamp()) * 1_000_000 for each in (FIRST_TIME, LAST_TIME))
_FAULTS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OSError)


def read_events(path: Path) -> pa.Table:
    """Every event under ``path``, one row each in the shape of EVENT, in order of arrival.

    Raises BadInput with the file, the line and the field where something cannot be read.
    """
    if not path.exists():
        raise BadInput(f"{path}: there is no such file or directory")
    if path.is_dir() and any((path / kind).is_dir() for kind in KINDS):
        return _merged(_read_folders(path))
    files = _files(path, _LINES) if path.is_dir() else [path]
    if not files:
        raise BadInput(f"{path}: needs the folders person, auction and bid, or JSON lines (*.jsonl)")
    return pa.concat_tables([_read_json(file, EVENT) for file in files])


def _files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files with these endings, compressed or not, by name; hidden ones and markers of other programs are none."""
    found = sorted(each for each in folder.glob("*") if each.name[0] not in "._" and each.is_file())
    return [each for each in found if each.name.removesuffix(".gz").endswith(endings)]


def of_kind(events: pa.Table, kind: str) -> pa.Table:
    """The events of one kind as a flat table, in order of arrival."""
    rows = events.column(kind).drop_null().combine_chunks()
    columns = [pc.struct_field(rows, index) for index in range(len(KINDS[kind]))]
    return pa.table(columns, schema=KINDS[kind])


def times_us(events: pa.Table) -> Integers:
    """The time of each event in microseconds; -2**62 where it has none."""
    columns = [pc.struct_field(events.column(kind), "dateTime") for kind in KINDS]
    return np.asarray(pc.fill_null(pc.coalesce(*columns).cast(pa.int64()), -(1 << 62)).to_numpy())


def lateness_ms(events: pa.Table) -> int:
    """The longest time by which any event lags behind the latest one before it, rounded up."""
    times = times_us(events)
    timed = times[times > -(1 << 62)]
    if len(timed) == 0:
        return 0
    return int(-(-int(np.max(np.maximum.accumulate(timed) - timed)) // 1000))


def end_of_input() -> pa.Table:
    """One event of each kind, of ids that meet nothing, in a window that never closes.

    It moves the watermark past everything else, so that all that is open closes. Nothing in it is null that a
    query may filter on: Spark pushes filters below watermarks, and a row that is filtered out moves none.
    """
    person = {"id": -2, "dateTime": END_TIME}
    auction = {"id": -1, "seller": -1, "category": -1, "reserve": 1, "dateTime": END_TIME, "expires": END_TIME}
    bid = {"auction": -1, "bidder": -1, "price": 0, "dateTime": END_TIME}
    return pa.Table.from_pylist([{"person": person}, {"auction": auction}, {"bid": bid}], schema=EVENT)


def write_epochs(events: pa.Table, folder: Path, epochs: int, end: pa.Table | None = None, ends: int = 1) -> int:
    """Writes one Parquet file per epoch, in an order that Spark's file source keeps; returns their number.

    ``end`` follows as the last epoch, or the last ``ends`` epochs: the rows that close what is still open.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cuts = np.linspace(0, events.num_rows, epochs + 1).astype(np.int64).tolist()
    parts = [events.slice(first, last - first) for first, last in pairwise(cuts)]
    parts += [] if end is None else [end] * ends
    for index, part in enumerate(parts):
        path = folder / f"epoch-{index:06d}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_000_000_000 + index, 1_000_000_000 + index))
    return len(parts)


def _read_folders(root: Path) -> dict[str, pa.Table]:
    tables = {kind: _read_folder(root / kind, kind) for kind in KINDS}
    if not any(tables.values()):
        raise BadInput(f"{root}: its folders hold neither JSON lines (*.jsonl) nor Parquet (*.parquet)")
    return {kind: pa.concat_tables([KINDS[kind].empty_table(), *parts]) for kind, parts in tables.items()}


def _read_folder(folder: Path, kind: str) -> list[pa.Table]:
    if not folder.is_dir():
        return []
    tables = [_read_parquet(file, KINDS[kind]) for file in _files(folder, (".parquet",))]
    return tables + [_read_json(file, KINDS[kind]) for file in _files(folder, _LINES)]


def _read_parquet(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        table = pq.read_table(path)
        known = [table.column(f.name) if f.name in table.schema.names else pa.nulls(len(table), f.type) for f in schema]
        found = pa.table([_cast(column, f.type) for column, f in zip(known, schema, strict=True)], schema=schema)
    except _FAULTS as error:
        raise BadInput(f"{path}: {error}") from None
    if not _in_range(found.column("dateTime")):
        raise BadInput(f"{path}: an event happens before 1970 or after 2099")
    return found


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """As JSON has it: whole numbers are milliseconds since 1970, instants without a zone are in UTC."""
    if kind == TIME and pa.types.is_integer(column.type):
        return column.cast(pa.int64()).cast(pa.timestamp("ms", tz="UTC")).cast(kind)
    if kind == TIME and pa.types.is_timestamp(column.type) and column.type.tz is None:
        return column.cast(pa.timestamp("us")).cast(kind)
    return column.cast(kind)


def _read_json(path: Path, schema: pa.Schema) -> pa.Table:
    """By Arrow's reader where the instants are all of one form, line by line where they are not or a fault lies."""
    if path.is_file() and path.stat().st_size == 0:
        return schema.empty_table()
    for instants in (TIME, pa.int64()):
        table = _read_fast(path, schema, instants)
        if table is not None:
            return table
    return read_lines(path, schema)


def _read_fast(path: Path, schema: pa.Schema, instants: pa.DataType) -> pa.Table | None:
    parsing = pj.ParseOptions(explicit_schema=_with_instants(schema, instants), unexpected_field_behavior="ignore")
    try:
        table = pj.read_json(path, pj.ReadOptions(block_size=_BLOCK), parsing).select(schema.names)
        if instants != TIME:
            table = table.cast(_with_instants(schema, pa.timestamp("ms", tz="UTC"))).cast(schema)
    except _FAULTS:
        return None
    if schema is not EVENT:
        is_whole = _in_range(table.column("dateTime")) and not _nothing_known(table)
        return table if is_whole else None
    times = [pc.struct_field(table.column(kind), "dateTime") for kind in KINDS]
    return table if _has_one_kind_each(table) and all(map(_in_range, times)) else None


def _has_one_kind_each(events: pa.Table) -> bool:
    """By row: a line with two kinds and one without any would make up for each other in a sum."""
    counts = np.zeros(len(events), np.int8)
    for kind in KINDS:
        counts += events.column(kind).is_valid().to_numpy()
    return bool(np.all(counts == 1))


def _in_range(times: pa.ChunkedArray) -> bool:
    found = pc.min_max(times.cast(pa.int64())).as_py()
    return found["min"] is None or (found["min"] >= _EARLIEST_US and found["max"] < _LATEST_US)


def _nothing_known(table: pa.Table) -> bool:
    """Whether some row has none of the fields: perhaps it stands under the name of its kind."""
    empty = None
    for column in table.columns:
        empty = column.is_null() if empty is None else pc.and_(empty, column.is_null())
    return bool(pc.any(empty).as_py())


def _with_instants(schema: pa.Schema, instants: pa.DataType) -> pa.Schema:
    def changed(field: pa.Field) -> pa.Field:
        if pa.types.is_struct(field.type):
            return pa.field(field.name, pa.struct([changed(each) for each in field.type]))
        return pa.field(field.name, instants) if field.type == TIME else field

    return pa.schema([changed(field) for field in schema])


def _merged(tables: dict[str, pa.Table]) -> pa.Table:
    """One row per event: each folder keeps its order, and the folders advance together through time."""
    places = list(_reached(tables))
    order = np.argsort(np.concatenate(places), kind="stable")
    starts = np.cumsum([0, *(len(place) for place in places)])
    columns = []
    for index, (kind, table) in enumerate(tables.items()):
        mine = (order >= starts[index]) & (order < starts[index + 1])
        structs = table.combine_chunks().to_struct_array()
        structs = structs.combine_chunks() if isinstance(structs, pa.ChunkedArray) else structs
        columns.append(structs.cast(EVENT.field(kind).type).take(pa.array(order - starts[index], mask=~mine)))
    return pa.table(columns, schema=EVENT)


def _reached(tables: dict[str, pa.Table]) -> Iterator[Integers]:
    for table in tables.values():
        times = pc.fill_null(table.column("dateTime").cast(pa.int64()), -(1 << 62)).to_numpy()
        yield np.maximum.accumulate(times) if len(times) else times
