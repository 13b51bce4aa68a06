"""Nested and variable values as bytes, one byte string per value, and back; vectorised over the whole column.

A top-level string or binary value is its own bytes. A list, struct or map is a sequence of 64-bit words that says its own
length (``v`` stands for one encoded value):
  fixed width   flag, word (128-bit types: two words); a null is all zeros
  bytes         length + 1, then the bytes padded to whole words; a null is 0
  struct        1, then each field's v; a null is 0
  list, map     count + 1, then (elements of varying width only) the words of each element, then each element's v
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model import BadInput
from whimbrel.state import nested_kernels
from whimbrel.state.words import from_words, to_words, valid_of, words_per_value

Words = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def bytes_of(array: pa.Array) -> tuple[Words, Bytes]:
    """The offsets (n + 1) and the bytes of a column of varying width. Raises BadInput for a type that has none."""
    kind = array.type
    if pa.types.is_nested(kind):
        encoded = _encode(array)
        return np.concatenate(([0], np.cumsum(encoded.sizes))) * 8, encoded.words.view(np.uint8)
    return _buffers(_as_binary(array))


def array_of(offsets: Words, data: Bytes, kind: pa.DataType, valid: npt.NDArray[np.bool_]) -> pa.Array:
    """The column of this type with these bytes; null where ``valid`` is False."""
    if not pa.types.is_nested(kind):
        mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        buffers = [mask, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(data)]
        return _from_binary(pa.Array.from_buffers(pa.large_binary(), len(valid), buffers), kind)
    words = np.concatenate((np.ascontiguousarray(data).view(np.int64), np.zeros(1, np.int64)))
    starts = np.where(valid, offsets[:-1] // 8, len(words) - 1)
    return _decode(words, starts, kind)[0]


@dataclass(frozen=True)
class _Encoded:
    sizes: Words
    words: Words


def _as_binary(array: pa.Array) -> pa.Array:
    kind = array.type
    try:
        if pa.types.is_dictionary(kind):
            array = array.cast(kind.value_type)
        if pa.types.is_string_view(kind):
            array = array.cast(pa.large_string())
        return array.cast(pa.large_binary())
    except pa.ArrowException:
        raise BadInput(f"a column has type {kind}, which state cannot hold: cast it to a type of Spark") from None


def _from_binary(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return array.cast(kind)
    text = array.view(pa.large_string())
    return text if kind == text.type else text.cast(kind)


def _buffers(array: pa.Array) -> tuple[Words, Bytes]:
    _, offsets, data = array.buffers()
    count = len(array)
    if count == 0 or offsets is None:
        return np.zeros(count + 1, np.int64), np.zeros(0, np.uint8)
    view = np.frombuffer(offsets, np.int64)[array.offset : array.offset + count + 1]
    return view, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _encode(array: pa.Array) -> _Encoded:
    kind, valid = array.type, valid_of(array)
    fixed = words_per_value(kind)
    if fixed:
        table = np.empty((len(array), 1 + fixed), np.int64)
        table[:, 0] = valid
        table[:, 1:] = to_words(array).reshape(len(array), fixed)
        return _Encoded(np.full(len(array), 1 + fixed, np.int64), table.reshape(-1))
    if pa.types.is_struct(kind):
        return _interleave(valid.astype(np.int64), [_encode(child) for child in array.flatten()], valid)
    if pa.types.is_nested(kind):
        return _encode_list(_as_list(array), valid)
    offsets, data = _buffers(_as_binary(array))
    sizes = np.where(valid, 1 + (np.diff(offsets) + 7) // 8, 1)
    words = np.zeros(int(sizes.sum()), np.int64)
    nested_kernels.place_bytes(offsets, data, valid.view(np.uint8), words)
    return _Encoded(sizes, words)


def _interleave(lead: Words, fields: list[_Encoded], valid: npt.NDArray[np.bool_]) -> _Encoded:
    sizes = 1 + np.where(valid, sum((f.sizes for f in fields), np.zeros(len(valid), np.int64)), 0)
    words = np.zeros(int(sizes.sum()), np.int64)
    starts = np.cumsum(sizes) - sizes
    words[starts] = lead
    at = starts + 1
    for field in fields:
        nested_kernels.place_words(at, field.sizes, field.words, valid.view(np.uint8), words)
        at = at + field.sizes
    return _Encoded(sizes, words)


def _as_list(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_map(kind):
        return array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    if pa.types.is_fixed_size_list(kind):
        return array.cast(pa.list_(kind.value_field))
    return array


def _encode_list(array: pa.Array, valid: npt.NDArray[np.bool_]) -> _Encoded:
    counts = np.asarray(array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    children = _encode(array.flatten())
    ends = np.concatenate(([0], np.cumsum(counts)))
    words_before = np.concatenate(([0], np.cumsum(children.sizes)))
    totals = words_before[ends[1:]] - words_before[ends[:-1]]
    parts = [_Encoded(totals, children.words)]
    if not words_per_value(array.type.value_type):
        parts.insert(0, _Encoded(counts, children.sizes))
    return _interleave(np.where(valid, counts + 1, 0), parts, valid)


def _decode(words: Words, starts: Words, kind: pa.DataType) -> tuple[pa.Array, Words]:
    lead = words[starts]
    valid = lead != 0
    fixed = words_per_value(kind)
    if fixed:
        at = np.minimum(starts + 1, len(words) - fixed)
        values = words[at] if fixed == 1 else np.stack((words[at], words[np.minimum(at + 1, len(words) - 1)]), axis=1)
        return from_words(values, kind, valid), starts + 1 + fixed
    if pa.types.is_struct(kind):
        return _decode_struct(words, starts, kind, valid)
    if pa.types.is_nested(kind):
        return _decode_list(words, starts, kind, valid)
    lengths = np.where(valid, lead - 1, 0)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    data = np.empty(int(offsets[-1]), np.uint8)
    nested_kernels.gather_bytes(words.view(np.uint8), (starts + 1) * 8, offsets, data)
    return array_of(offsets, data, kind, valid), starts + 1 + (lengths + 7) // 8


def _decode_struct(words: Words, starts: Words, kind: Any, valid: npt.NDArray[np.bool_]) -> tuple[pa.Array, Words]:
    # A null struct has no fields: they are read from the closing zero word, where every value is null.
    at = np.where(valid, starts + 1, len(words) - 1)
    children = []
    for number in range(kind.num_fields):
        child, ends = _decode(words, at, kind.field(number).type)
        at = np.where(valid, ends, len(words) - 1)
        children.append(child)
    mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.Array.from_buffers(kind, len(valid), [mask], children=children)
    return array, np.where(valid, at, starts + 1)


def _decode_list(words: Words, starts: Words, kind: Any, valid: npt.NDArray[np.bool_]) -> tuple[pa.Array, Words]:
    counts = np.where(valid, words[starts] - 1, 0)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    child_kind = pa.struct([kind.key_field, kind.item_field]) if pa.types.is_map(kind) else kind.value_type
    each = words_per_value(child_kind)
    at, ends = np.empty(int(offsets[-1]), np.int64), np.empty(len(starts), np.int64)
    nested_kernels.element_starts(words, starts + 1, counts, each + 1 if each else 0, at, ends)
    children, _ = _decode(words, at, child_kind)
    mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    small = pa.py_buffer(offsets.astype(np.int32))
    as_list = pa.large_list(child_kind) if pa.types.is_large_list(kind) else pa.list_(child_kind)
    buffer = pa.py_buffer(offsets) if pa.types.is_large_list(kind) else small
    if pa.types.is_map(kind):
        return pa.Array.from_buffers(kind, len(valid), [mask, buffer], children=[children]), ends
    array = pa.Array.from_buffers(as_list, len(valid), [mask, buffer], children=[children])
    return (array if array.type == kind else array.cast(kind)), ends
