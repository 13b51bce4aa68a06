"""Fixed-width Arrow values as 64-bit words, and back without loss.

Every value of at most 64 bits is one word, every value of 128 bits (a decimal, a calendar interval) is two, the low
one first. The word of a null is zero, so equal columns have equal words. Strings, bytes and nested values have no
fixed width: ``words_per_value`` is 0 for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Words = npt.NDArray[np.int64]

_SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def words_per_value(kind: pa.DataType) -> int:
    """How many words a value of this type takes, or 0 where its width varies."""
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return 1
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or pa.types.is_fixed_size_binary(kind):
        return 0
    try:
        bits = int(kind.bit_width)
    except ValueError:
        return 0
    return 0 if bits > 128 else 2 if bits > 64 else 1


def to_words(array: pa.Array) -> Words:
    """The words of a fixed-width array: int64[n], or int64[n, 2] for 128-bit types; zero where it is null."""
    count = len(array)
    if pa.types.is_null(array.type):
        return np.zeros(count, np.int64)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    wide = words_per_value(array.type) == 2
    words = _raw(array, wide)
    if array.null_count:
        words = words.copy()
        words[~valid_of(array)] = 0
    return words


def from_words(words: Words, kind: pa.DataType, valid: npt.NDArray[np.bool_]) -> pa.Array:
    """The array of this type with these words; null where ``valid`` is False."""
    count = len(valid)
    if pa.types.is_null(kind):
        return pa.nulls(count)
    mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    if pa.types.is_boolean(kind):
        data = np.packbits(words != 0, bitorder="little")
    elif words_per_value(kind) == 2:
        data = np.ascontiguousarray(words)
    else:
        data = np.ascontiguousarray(words.astype(_stored_as(kind)))
    return pa.Array.from_buffers(kind, count, [mask, pa.py_buffer(data)])


def valid_of(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values are not null."""
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one contiguous array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def _stored_as(kind: pa.DataType) -> Any:
    unsigned = pa.types.is_unsigned_integer(kind) or pa.types.is_float16(kind)
    return (_UNSIGNED if unsigned else _SIGNED)[kind.bit_width]


def _raw(array: pa.Array, wide: bool) -> Words:
    buffer = array.buffers()[1]
    count, start = len(array), array.offset
    if count == 0 or buffer is None:
        return np.zeros((count, 2) if wide else count, np.int64)
    if wide:
        return np.frombuffer(buffer, np.int64)[2 * start : 2 * (start + count)].reshape(count, 2)
    return np.frombuffer(buffer, _stored_as(array.type))[start : start + count].astype(np.int64)
