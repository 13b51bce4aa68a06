"""How many distinct values a key has seen, from a sketch of fixed size (HyperLogLog).

A value's hash picks a register and offers the position of its first one bit; the register keeps the greatest offer,
so order, repetition and splitting never matter. A sketch with few used registers lists them, four bytes each by
ascending register; a fuller one is a byte per register. Its length says which: a list is always shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.runtime.operators.combining import Index, Mask, update_by_joining
from whimbrel.state.hashing import hash_keys

Bytes = npt.NDArray[np.uint8]
_ENTRY_BYTES = 4
_FULL_SHARE = 8
"""A sketch with more than this part of its registers in use is a byte per register: half of that would be its list."""


@dataclass(frozen=True, slots=True)
class SketchCell:
    """2^``precision`` registers; the standard error of the estimate is 1.04 / sqrt(registers)."""

    name: str
    source: str
    precision: int

    @staticmethod
    def precision_for(error: float) -> int:
        """The precision whose standard error is at most ``error``; between 4 and 16."""
        return min(16, max(4, ceil(2 * log2(1.04 / error))))

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The registers."""
        return (pa.field(self.name, pa.binary()),)

    @property
    def sources(self) -> tuple[str, ...]:
        """The column."""
        return (self.source,)

    @property
    def law(self) -> str:
        """The sketch and its size."""
        return f"sketch {self.precision}"

    @property
    def neutral(self) -> tuple[Any, ...]:
        """A list of no registers."""
        return (b"",)

    def start(self, batch: pa.RecordBatch, group: Index, groups: int) -> list[pa.Array]:
        """The sketch of each group of raw rows."""
        column = batch.column(self.source)
        known = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        hashes = hash_keys([column.take(pa.array(known))]).second
        register = (hashes >> np.uint64(64 - self.precision)).astype(np.int64)
        rest = hashes << np.uint64(self.precision)
        return [self._sketches(_Offers(group[known], register, _first_one(rest, 64 - self.precision)), groups)]

    def join(self, columns: Sequence[pa.Array], group: Index, groups: int) -> list[pa.Array]:
        """The sketch of each group of sketches."""
        offers = self._offers(columns[0])
        return [self._sketches(_Offers(group[offers.owner], offers.register, offers.rank), groups)]

    def update(self, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
        """The sketch of old and new."""
        return update_by_joining(self, old, known, new)

    def estimate(self, column: pa.Array) -> pa.Array:
        """How many distinct values each row's sketch has seen."""
        offers, m = self._offers(column), 1 << self.precision
        alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(m, 0.7213 / (1 + 1.079 / m))
        empty = m - np.bincount(offers.owner, minlength=len(column))
        raw = alpha * m * m / (empty + np.bincount(offers.owner, np.ldexp(1.0, -offers.rank), len(column)))
        few = m * np.log(m / np.maximum(empty, 1))
        return pa.array(np.rint(np.where((raw <= 2.5 * m) & (empty > 0), few, raw)).astype(np.int64))

    def _offers(self, column: pa.Array) -> _Offers:
        m = 1 << self.precision
        lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
        full, listed = np.flatnonzero(lengths == m), np.flatnonzero(lengths < m)
        words = _bytes_of(column.take(pa.array(listed))).view(np.uint32)
        owner = np.repeat(listed, lengths[listed] // _ENTRY_BYTES)
        rows, register = np.nonzero(filled := _bytes_of(column.take(pa.array(full))).reshape(-1, m))
        return _Offers(
            np.concatenate([owner, full[rows]]),
            np.concatenate([(words >> np.uint32(8)).astype(np.int64), register]),
            np.concatenate([(words & np.uint32(255)).astype(np.int64), filled[rows, register].astype(np.int64)]),
        )

    def _sketches(self, offers: _Offers, groups: int) -> pa.Array:
        m = 1 << self.precision
        best = offers.greatest(m)
        counts = np.bincount(best.owner, minlength=groups)
        is_full = counts > m // _FULL_SHARE
        ends = np.cumsum(np.where(is_full, m, counts * _ENTRY_BYTES))
        starts = ends - np.where(is_full, m, counts * _ENTRY_BYTES)
        data = np.zeros(int(ends[-1]) if groups else 0, np.uint8)
        full = is_full[best.owner]
        data[starts[best.owner[full]] + best.register[full]] = best.rank[full]
        within = np.arange(best.owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
        words = ((best.register << 8) | best.rank)[~full].astype(np.uint32)
        data.view(np.uint32)[starts[best.owner[~full]] // _ENTRY_BYTES + within[~full]] = words
        offsets = pa.py_buffer(np.concatenate([[0], ends]).astype(np.int32))
        return pa.Array.from_buffers(pa.binary(), groups, [None, offsets, pa.py_buffer(data)])


@dataclass(frozen=True, slots=True)
class _Offers:
    """What registers of numbered sketches are offered: the sketch, the register, the position."""

    owner: Index
    register: Index
    rank: Index

    def greatest(self, m: int) -> _Offers:
        """The greatest offer of every register, by sketch and register."""
        packed = np.sort(((self.owner * m + self.register) << 8) | self.rank)
        place = packed >> 8
        last = np.ones(packed.size, np.bool_)
        last[:-1] = place[1:] != place[:-1]
        place = place[last]
        return _Offers(place // m, place % m, packed[last] & 255)


def _bytes_of(column: pa.Array) -> Bytes:
    """The bytes of all values, one after the other."""
    if not len(column):
        return np.zeros(0, np.uint8)
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]


def _first_one(words: npt.NDArray[np.uint64], width: int) -> Index:
    """The position (from 1) of the highest one bit, or width + 1 where there is none."""
    # Each half fits a double without rounding, so the exponent is exact.
    high = (words >> np.uint64(32)).astype(np.float64)
    low = (words & np.uint64(0xFFFFFFFF)).astype(np.float64)
    zeros = np.where(high > 0, 32 - np.frexp(high)[1], np.where(low > 0, 64 - np.frexp(low)[1], width))
    return np.asarray(np.minimum(zeros, width) + 1, np.int64)
