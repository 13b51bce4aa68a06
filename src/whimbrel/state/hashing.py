"""The hash of a key: 128 stable bits for every Arrow type that Spark produces, on every platform.

``first`` decides the bin (its top bits) and the place within it; ``first`` and ``second`` together are the identity
of a row. Equal values hash equally whatever their physical type: an int 5 and a long 5, a string and a large string,
a dictionary-encoded string and a plain one, -0.0 and 0.0, any two NaNs (as Spark groups).

Definition (all arithmetic modulo 2^64; constants below):
  integers, booleans, dates, times   the value as a two's complement word
  floats                             the bits of the value as a double, zero and NaN made unique
  one word w                         first = mix(w), second = stir(w): both bijective, so one integer key never collides
  a 128-bit value (lo, hi)           the words lo and hi, joined
  strings and binary                 a fold over the bytes, eight at a time, little-endian, seeded by the length
  null                               two constants
  struct                             its fields joined onto a seed
  list                               its elements joined onto a seed and the length
  map                                the sum of its mixed entries joined onto a seed and the length: order is no matter
  several columns                    joined from left to right; join(a, b) depends on the order
The two halves use different constants throughout. The hash is not meant to withstand an adversary who chooses keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model import BadInput
from whimbrel.state import hash_kernels
from whimbrel.state.words import one_array, to_words, valid_of, words_per_value

Hashes = npt.NDArray[np.uint64]
Column: TypeAlias = Any
"""A pyarrow Array or ChunkedArray."""


@dataclass(frozen=True)
class KeyHashes:
    """``first[i]`` and ``second[i]`` identify row i; the top bits of ``first`` are its bin."""

    first: Hashes
    second: Hashes

    def __len__(self) -> int:
        return len(self.first)

    def take(self, index: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> KeyHashes:
        """The hashes of these rows, by number or by mask."""
        return KeyHashes(self.first[index], self.second[index])

    def bins(self, bits: int) -> npt.NDArray[np.int64]:
        """The bin of every row where a job has 2^bits bins."""
        if bits == 0:
            return np.zeros(len(self.first), np.int64)
        return (self.first >> np.uint64(64 - bits)).astype(np.int64)

    @staticmethod
    def concat(parts: Sequence[KeyHashes]) -> KeyHashes:
        """The rows of all parts, in order; at least one part."""
        return KeyHashes(np.concatenate([p.first for p in parts]), np.concatenate([p.second for p in parts]))


def hash_keys(columns: Sequence[Column]) -> KeyHashes:
    """The hashes of the rows of these columns. Raises BadInput for no columns or for a type that has no hash.

    >>> hash_keys([pa.array([1, 2, 1])]).bins(8).tolist()
    [145, 151, 145]
    """
    if not columns:
        raise BadInput("a key needs at least one column: name what the rows are grouped by")
    hashes = _hash_array(one_array(columns[0]))
    for column in columns[1:]:
        hashes = _join(hashes, _hash_array(one_array(column)))
    return hashes


def rehash(hashes: KeyHashes, extra: Sequence[Column], bits: int) -> KeyHashes:
    """The hashes of the rows with ``extra`` columns joined to their key; the top ``bits`` of ``first`` stay.

    So the row of (key, window) lives in the bin of its key.
    """
    if not extra:
        return hashes
    joined = _join(hashes, hash_keys(extra))
    if bits == 0:
        return joined
    below = np.uint64((1 << (64 - bits)) - 1)
    return KeyHashes((hashes.first & ~below) | (joined.first & below), joined.second)


def _hash_array(array: pa.Array) -> KeyHashes:
    kind = array.type
    if pa.types.is_nested(kind):
        return _hash_nested(array)
    if pa.types.is_dictionary(kind):
        return _hash_dictionary(array)
    if words_per_value(kind) == 2:
        words = to_words(array)
        low, high = np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])
        return _with_nulls(_join(_hash_words(low, None), _hash_words(high, None)), array)
    if words_per_value(kind) == 1:
        return _hash_words(_double_words(array) if pa.types.is_floating(kind) else to_words(array), array)
    return _hash_bytes(array)


def _hash_nested(array: pa.Array) -> KeyHashes:
    if pa.types.is_struct(array.type):
        return _hash_struct(array)
    return _hash_map(array) if pa.types.is_map(array.type) else _hash_list(array)


def _empty(count: int) -> KeyHashes:
    return KeyHashes(np.empty(count, np.uint64), np.empty(count, np.uint64))


def _join(left: KeyHashes, right: KeyHashes) -> KeyHashes:
    out = _empty(len(left))
    hash_kernels.join_pairs(left.first, left.second, right.first, right.second, out.first, out.second)
    return out


def _with_nulls(hashes: KeyHashes, array: pa.Array | None) -> KeyHashes:
    if array is not None and array.null_count:
        missing = ~valid_of(array)
        hashes.first[missing] = hash_kernels.NULL_FIRST
        hashes.second[missing] = hash_kernels.NULL_SECOND
    return hashes


def _hash_words(words: npt.NDArray[np.int64], array: pa.Array | None) -> KeyHashes:
    out = _empty(len(words))
    hash_kernels.mix_words(words.view(np.uint64), out.first, out.second)
    return _with_nulls(out, array)


def _double_words(array: pa.Array) -> npt.NDArray[np.int64]:
    values = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.int64)


def _hash_bytes(array: pa.Array) -> KeyHashes:
    try:
        if pa.types.is_string_view(array.type):
            array = array.cast(pa.large_string())
        array = array.cast(pa.large_binary())
    except pa.ArrowException:
        raise BadInput(f"a key column has type {array.type}, which has no hash: cast it to a type of Spark") from None
    out = _empty(len(array))
    offsets, data = byte_buffers(array)
    hash_kernels.fold_bytes(offsets, data, out.first, out.second)
    return _with_nulls(out, array)


def byte_buffers(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """The offsets (n + 1 of them) and the bytes of a large binary array, without copying."""
    _, offsets, data = array.buffers()
    count = len(array)
    if count == 0 or offsets is None:
        return np.zeros(count + 1, np.int64), np.zeros(0, np.uint8)
    view = np.frombuffer(offsets, np.int64)[array.offset : array.offset + count + 1]
    return view, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _hash_dictionary(array: pa.DictionaryArray) -> KeyHashes:
    indices = array.indices
    words = np.clip(to_words(indices), 0, None)
    if len(array.dictionary) == 0:
        return _with_nulls(_empty(len(array)), indices)
    return _with_nulls(_hash_array(array.dictionary).take(words), indices)


def _hash_struct(array: pa.StructArray) -> KeyHashes:
    hashes = _hash_words(np.full(len(array), hash_kernels.STRUCT_SEED, np.int64), None)
    for child in array.flatten():
        hashes = _join(hashes, _hash_array(child))
    return _with_nulls(hashes, array)


def _lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    return np.asarray(array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _hash_list(array: pa.Array) -> KeyHashes:
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.list_(array.type.value_field))
    out = _empty(len(array))
    children = _hash_array(array.flatten())
    hash_kernels.fold_lists(_lengths(array), children.first, children.second, out.first, out.second)
    return _with_nulls(out, array)


def _hash_map(array: pa.MapArray) -> KeyHashes:
    entries = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    out = _empty(len(array))
    children = _hash_array(entries.flatten())
    hash_kernels.sum_entries(_lengths(entries), children.first, children.second, out.first, out.second)
    return _with_nulls(out, array)
