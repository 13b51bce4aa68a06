"""Rows into groups of equal keys, and sums over the groups.

Groups are numbered by the first appearance of their key, so the same rows in the same order always give the same
numbers: a retried task repeats its work exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from whimbrel.state.compiled import F64, F64_IN, I64, I64_IN, INT, U8_IN, U64_IN, kernel
from whimbrel.state.hashing import KeyHashes

Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_ALL_VALID = np.zeros(0, np.uint8)
_LOWEST = np.iinfo(np.int64).min
_HIGHEST = np.iinfo(np.int64).max


def group_rows(hashes: KeyHashes) -> tuple[Index, Index]:
    """The group of every row, and the first row of every group.

    >>> from whimbrel.state.hashing import hash_keys
    >>> import pyarrow as pa
    >>> group, first = group_rows(hash_keys([pa.array(["b", "a", "b"])]))
    >>> group.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    count = len(hashes)
    group, first_row = np.empty(count, np.int64), np.empty(count, np.int64)
    places = np.zeros(1 << max(4, (2 * count - 1).bit_length()), np.int64)
    groups = _number_groups(hashes.first, hashes.second, places, group, first_row)
    return group, first_row[:groups].copy()


def count_by_group(group: Index, groups: int, valid: Mask | None = None) -> Ints:
    """How many rows, or how many valid ones, each group has."""
    out = np.zeros(groups, np.int64)
    _count(group, _mask(valid), out)
    return out


def sum_by_group(
    values: Ints | Floats, group: Index, groups: int, valid: Mask | None = None, exact: bool = False
) -> Ints | Floats:
    """The sum of each group's valid values, in row order.

    Integers wrap around at 64 bits; where ``exact``, OverflowError instead.
    """
    out: Any = np.zeros(groups, values.dtype)
    if _is_float(values):
        _sum_floats(np.ascontiguousarray(values), group, _mask(valid), out)
    elif _sum_ints(np.ascontiguousarray(values), group, _mask(valid), out) and exact:
        raise OverflowError("a sum of integers exceeds 64 bits")
    return out


def add_exactly(left: Ints | Floats, right: Ints | Floats, both: Mask) -> Ints | Floats:
    """The sums of two arrays; OverflowError where one of integers, and that counts, exceeds 64 bits."""
    total: Any = left + right
    if not _is_float(total) and bool(np.any((((total ^ left) & (total ^ right)) < 0) & both)):
        raise OverflowError("a sum of integers exceeds 64 bits")
    return total


def min_by_group(values: Ints | Floats, group: Index, groups: int, valid: Mask | None = None) -> Ints | Floats:
    """The least valid value of each group; NaN is greater than any number, as in Spark.

    A group without a valid value gets the greatest int64, or NaN: ask ``count_by_group`` which groups those are.
    """
    if _is_float(values):
        out = np.full(groups, np.nan)
        _min_floats(np.ascontiguousarray(values), group, _mask(valid), out)
        return out
    least = np.full(groups, _HIGHEST, np.int64)
    _min_ints(np.ascontiguousarray(values), group, _mask(valid), least)
    return least


def max_by_group(values: Ints | Floats, group: Index, groups: int, valid: Mask | None = None) -> Ints | Floats:
    """The greatest valid value of each group; NaN is greater than any number, as in Spark.

    A group without a valid value gets the least int64, or minus infinity.
    """
    if _is_float(values):
        out = np.full(groups, -np.inf)
        _max_floats(np.ascontiguousarray(values), group, _mask(valid), out)
        return out
    greatest = np.full(groups, _LOWEST, np.int64)
    _max_ints(np.ascontiguousarray(values), group, _mask(valid), greatest)
    return greatest


def _is_float(values: Ints | Floats) -> bool:
    return values.dtype.kind == "f"


def _mask(valid: Mask | None) -> npt.NDArray[np.uint8]:
    return _ALL_VALID if valid is None else np.ascontiguousarray(valid).view(np.uint8)


@kernel(INT, U64_IN, U64_IN, I64, I64, I64)
def _number_groups(first, second, places, group, first_row):  # type: ignore[no-untyped-def]
    # A place holds a group's number plus one in its low half and 32 bits of the hash above: most probes of other
    # groups end without looking at the group itself.
    mask = np.uint64(places.size - 1)
    low, one, half = np.uint64(0xFFFFFFFF), np.uint64(1), np.uint64(32)
    groups = 0
    for i in range(first.size):
        at = (first[i] >> half) & mask if places.size <= 1 << 32 else first[i] & mask
        tag = first[i] & low
        while True:
            place = np.uint64(places[at])
            if place == np.uint64(0):
                places[at] = np.int64((tag << half) | np.uint64(groups + 1))
                first_row[groups] = i
                group[i] = groups
                groups += 1
                break
            if (place >> half) == tag:
                known = np.int64(place & low) - 1
                row = first_row[known]
                if first[row] == first[i] and second[row] == second[i]:
                    group[i] = known
                    break
            at = (at + one) & mask
    return groups


@kernel(types.void, I64_IN, U8_IN, I64)
def _count(group, valid, out):  # type: ignore[no-untyped-def]
    for i in range(group.size):
        if valid.size == 0 or valid[i]:
            out[group[i]] += 1


def _summing(values, group, valid, out):  # type: ignore[no-untyped-def]
    for i in range(group.size):
        if valid.size == 0 or valid[i]:
            out[group[i]] += values[i]


def _summing_ints(values, group, valid, out):  # type: ignore[no-untyped-def]
    # A sum has wrapped where its sign differs from those of both parts; the signs are gathered without a branch.
    wrapped = np.int64(0)
    for i in range(group.size):
        if valid.size == 0 or valid[i]:
            old = out[group[i]]
            new = old + values[i]
            wrapped |= (old ^ new) & (values[i] ^ new)
            out[group[i]] = new
    return np.int64(1) if wrapped < 0 else np.int64(0)


def _lowering(values, group, valid, out):  # type: ignore[no-untyped-def]
    for i in range(group.size):
        if (valid.size == 0 or valid[i]) and (values[i] < out[group[i]] or out[group[i]] != out[group[i]]):
            out[group[i]] = values[i]


def _raising(values, group, valid, out):  # type: ignore[no-untyped-def]
    for i in range(group.size):
        if (valid.size == 0 or valid[i]) and (values[i] > out[group[i]] or values[i] != values[i]):
            out[group[i]] = values[i]


_INT_LOOP = (types.void, I64_IN, I64_IN, U8_IN, I64)
_FLOAT_LOOP = (types.void, F64_IN, I64_IN, U8_IN, F64)
_sum_ints = kernel(INT, I64_IN, I64_IN, U8_IN, I64)(_summing_ints)
_sum_floats = kernel(*_FLOAT_LOOP)(_summing)
_min_ints, _min_floats = kernel(*_INT_LOOP)(_lowering), kernel(*_FLOAT_LOOP)(_lowering)
_max_ints, _max_floats = kernel(*_INT_LOOP)(_raising), kernel(*_FLOAT_LOOP)(_raising)
