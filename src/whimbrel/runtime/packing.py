"""Rows packed for the shuffle: a few binary Arrow payloads per slot instead of millions of rows.

A payload is an Arrow stream of rows for one slot, at most ``PAYLOAD_BYTES`` or so. The last payload of a mapper
for a slot also says how many raw rows each bin got, because combined rows no longer tell.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PAYLOAD_BYTES = 128 << 10
"""Small enough that a whole Arrow batch of payloads stays below the 2 GiB that its offsets can say."""

ROUTED = pa.schema(
    [
        ("slot_token", pa.int32()),
        ("mapper", pa.int32()),
        ("sequence", pa.int32()),
        ("side", pa.int32()),
        ("payload", pa.binary()),
        ("event_time", pa.timestamp("us", tz="UTC")),
    ]
)
"""What crosses the shuffle. ``side`` -1 is a row that only makes the slot's host run, or carries a time."""

ROUTED_DDL = "slot_token int, mapper int, sequence int, side int, payload binary, event_time timestamp"
CALL = -1
_BINS, _ROWS = b"whimbrel.bins", b"whimbrel.rows"

Index = npt.NDArray[np.int64]


def split_by_slot(slots: npt.NDArray[np.int32]) -> tuple[Index, dict[int, tuple[int, int]]]:
    """A stable order that puts each slot's rows together, and the range of each slot within it."""
    order = np.argsort(slots.astype(np.int16), kind="stable")
    counts = np.bincount(slots)
    ends = np.cumsum(counts)
    return order, {int(s): (int(ends[s] - counts[s]), int(ends[s])) for s in np.flatnonzero(counts)}


def pack(batch: pa.RecordBatch) -> Iterator[bytes]:
    """The batch as payloads of bounded size, in order."""
    pieces = max(1, -(-batch.nbytes // PAYLOAD_BYTES))
    length = max(1, -(-batch.num_rows // pieces))
    for start in range(0, batch.num_rows, length):
        yield _to_stream(batch.slice(start, length))


def pack_counts(schema: pa.Schema, bins: Index, rows: Index) -> bytes:
    """An empty payload that carries the raw rows per bin."""
    counted = schema.with_metadata({_BINS: bins.tobytes(), _ROWS: rows.tobytes()})
    return _to_stream(pa.RecordBatch.from_pylist([], schema=counted))


def unpack(payload: bytes) -> tuple[pa.RecordBatch, Index, Index]:
    """The rows of a payload, and the bins with their raw row counts (empty in most payloads)."""
    with pa.ipc.open_stream(payload) as reader:
        table = reader.read_all()
    metadata = table.schema.metadata or {}
    bins = np.frombuffer(metadata.get(_BINS, b""), np.int64)
    rows = np.frombuffer(metadata.get(_ROWS, b""), np.int64)
    return as_batch(table.replace_schema_metadata(None)), bins, rows


def as_batch(table: pa.Table) -> pa.RecordBatch:
    """One contiguous batch of a table's rows."""
    columns = [_single(column) for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _single(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def _to_stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]
