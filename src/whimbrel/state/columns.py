"""Columns of a table as Arrow arrays, and back: the codec between record batches and rows of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model import BadInput
from whimbrel.state import heap_kernels, nested, row_kernels
from whimbrel.state.layout import Place
from whimbrel.state.words import from_words, one_array, to_words, valid_of

if TYPE_CHECKING:
    from whimbrel.state.table import KeyedTable

Rows = npt.NDArray[np.int64]


def write_columns(table: KeyedTable, rows: Rows, batch: pa.RecordBatch, names: Sequence[str]) -> None:
    """Writes these columns of the batch into the rows, which must be sealed afterwards.

    Raises BadInput, and writes nothing, where a column is missing, too long or of another type.
    """
    places = [table.layout.place(name) for name in names]
    arrays = [_fitting(batch, place, len(rows)) for place in places]
    for place, array in zip(places, arrays, strict=True):
        if place.by_reference:
            _store(table, rows, place, array)
        else:
            _put(table, rows, place, array)


def read_column(table: KeyedTable, rows: Rows, place: Place) -> pa.Array:
    """One column of rows that have been verified."""
    held = table.rows
    valid = ((held[rows, place.null_word] >> place.null_bit) & 1).astype(np.bool_)
    if not place.by_reference:
        words = held[rows, place.word] if place.words == 1 else held[rows, place.word : place.word + 2]
        return from_words(words, place.kind, valid)
    offsets = np.empty(len(rows) + 1, np.int64)
    where = _reference(place)
    used = int(table.counters[row_kernels.HEAP])
    table.sound(heap_kernels.measure_bytes(held, rows, where, table.heap, used, offsets) < 0, "the length of a value")
    data = np.empty(int(offsets[-1]), np.uint8)
    heap = table.heap
    table.sound(heap_kernels.load_bytes(held, rows, where, heap, heap.view(np.uint8), offsets, data) < 0, "a value")
    return nested.array_of(offsets, data, place.kind, valid)


def _fitting(batch: pa.RecordBatch, place: Place, count: int) -> pa.Array:
    if place.name not in batch.schema.names:
        raise BadInput(f"column {place.name!r} is missing: the batch has {batch.schema.names}")
    array = one_array(batch.column(batch.schema.names.index(place.name)))
    if len(array) != count:
        raise BadInput(f"column {place.name!r} has {len(array)} values for {count} rows: give one each")
    if array.type == place.kind:
        return array
    try:
        return array.cast(place.kind)
    except pa.ArrowException as problem:
        raise BadInput(f"column {place.name!r} holds {array.type} where {place.kind} belongs: {problem}") from None


def _put(table: KeyedTable, rows: Rows, place: Place, array: pa.Array) -> None:
    words, valid = to_words(array), valid_of(array).view(np.uint8)
    for k in range(place.words):
        part = np.ascontiguousarray(words if place.words == 1 else words[:, k])
        row_kernels.put_words(table.rows, rows, place.word + k, place.null_word, place.null_bit, part, valid)


def _store(table: KeyedTable, rows: Rows, place: Place, array: pa.Array) -> None:
    offsets, data = nested.bytes_of(array)
    room = heap_kernels.room_for(offsets)
    if room < 0:
        raise BadInput(
            f"a value of column {place.name!r} is longer than {heap_kernels.LENGTH_BYTES_MAX} bytes: split it"
        )
    table.reserve("heap", int(table.counters[row_kernels.HEAP]) + int(room))
    bad = heap_kernels.store_bytes(
        table.rows, rows, _reference(place), offsets, data, valid_of(array).view(np.uint8), table.heap,
        table.counters, table.block_lists, table.regions, table.bits,
    )  # fmt: skip
    table.sound(bad < 0, "a value that is replaced")


def _reference(place: Place) -> npt.NDArray[np.int64]:
    return np.array([place.word, place.null_word, place.null_bit], np.int64)
