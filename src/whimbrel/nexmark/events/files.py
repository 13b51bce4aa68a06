"""Events as files: three folders, ``person``, ``auction`` and ``bid``, in parts that follow the order of arrival.

Part n of each folder covers the same stretch of the stream, so a reader who takes the parts in the order of
their names meets the three kinds side by side.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.generator import Events, generate
from whimbrel.nexmark.events.rules import Rules
from whimbrel.nexmark.events.schema import KINDS

FORMATS = ("jsonl", "parquet")
PART = 100_000
"""Events in one part of the three folders."""


def write_files(folder: Path, count: int, options: Rules, form: str = "jsonl", part: int = PART) -> dict[str, int]:
    """Writes ``count`` events; returns the rows per kind.

    Raises BadInput for an unknown format, a negative count, or a folder that already holds events:
    a second run beside the first would make a stream that nobody generated.
    """
    if form not in FORMATS:
        raise BadInput(f"the format {form!r} is unknown: use {' or '.join(FORMATS)}")
    if count < 0:
        raise BadInput(f"{count} events: the count must be zero or more")
    for kind in KINDS:
        if (folder / kind).exists() and any((folder / kind).iterdir()):
            raise BadInput(f"{folder / kind} already holds files: name an empty directory")
        (folder / kind).mkdir(parents=True, exist_ok=True)
    rows = dict.fromkeys(KINDS, 0)
    for index, first in enumerate(range(0, max(count, 1), part)):
        events = generate(first, min(part, count - first), options)
        for kind in KINDS:
            rows[kind] += getattr(events, kind).num_rows
        _write_part(folder, index, events, form)
    return rows


def _write_part(folder: Path, index: int, events: Events, form: str) -> None:
    for kind in KINDS:
        batch: pa.RecordBatch = getattr(events, kind)
        path = folder / kind / f"part-{index:05d}.{form}"
        if form == "parquet":
            pq.write_table(pa.Table.from_batches([batch]), path, compression="zstd")
        else:
            path.write_bytes(json_lines(batch))


def json_lines(batch: pa.RecordBatch) -> bytes:
    """One JSON object a line, vectorised; instants as ``2015-07-15T00:00:00.000Z``.

    The batch must be the generator's own: its text has no character that JSON would escape, and no nulls.
    """
    if batch.num_rows == 0:
        return b""
    pieces: list[pa.Array | str] = []
    for index, field in enumerate(batch.schema):
        pieces.append(("{" if index == 0 else ",") + f'"{field.name}":')
        pieces.append(_json_values(batch.column(index)))
    lines = pc.binary_join_element_wise(*pieces, "}\n", "")
    return bytes(memoryview(lines.buffers()[2])[: _text_bytes(lines)])


def _text_bytes(column: pa.Array) -> int:
    return int(memoryview(column.buffers()[1]).cast("i")[len(column)])


def _json_values(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type):
        return column.cast(pa.string())
    if pa.types.is_timestamp(column.type):
        column = pc.strftime(column.cast(pa.timestamp("ms", tz="UTC")), format="%Y-%m-%dT%H:%M:%SZ")
    return pc.binary_join_element_wise('"', column, '"', "")
