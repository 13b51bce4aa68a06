"""How many distinct values a key has seen, from a sketch of fixed size (HyperLogLog).

A sketch is one byte per register. A value's hash picks the register and offers the position of its first one bit;
the register keeps the greatest offer, so order, repetition and splitting never matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.runtime.operators.combining import Index, Mask, update_by_joining
from whimbrel.state.hashing import hash_keys

Bytes = npt.NDArray[np.uint8]


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
        """Registers that have seen nothing."""
        return (bytes(1 << self.precision),)

    def start(self, batch: pa.RecordBatch, group: Index, groups: int) -> list[pa.Array]:
        """The sketch of each group of raw rows."""
        column = batch.column(self.source)
        known = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        hashes = hash_keys([column.take(pa.array(known))]).second
        register = (hashes >> np.uint64(64 - self.precision)).astype(np.int64)
        rest = hashes << np.uint64(self.precision)
        registers = np.zeros((groups, 1 << self.precision), np.uint8)
        np.maximum.at(registers, (group[known], register), _first_one(rest, 64 - self.precision))
        return [_to_arrow(registers)]

    def join(self, columns: Sequence[pa.Array], group: Index, groups: int) -> list[pa.Array]:
        """The sketch of each group of sketches."""
        registers = np.zeros((groups, 1 << self.precision), np.uint8)
        np.maximum.at(registers, group, self.registers(columns[0]))
        return [_to_arrow(registers)]

    def update(self, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
        """The sketch of old and new."""
        return update_by_joining(self, old, known, new)

    def registers(self, column: pa.Array) -> Bytes:
        """The registers of every row."""
        data = b"".join(column.to_pylist())
        return np.frombuffer(data, np.uint8).reshape(len(column), 1 << self.precision)

    def estimate(self, column: pa.Array) -> pa.Array:
        """How many distinct values each row's sketch has seen."""
        registers = self.registers(column)
        m = 1 << self.precision
        alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(m, 0.7213 / (1 + 1.079 / m))
        raw = alpha * m * m / np.sum(np.ldexp(1.0, -registers.astype(np.int64)), axis=1)
        empty = np.count_nonzero(registers == 0, axis=1)
        few = m * np.log(m / np.maximum(empty, 1))
        return pa.array(np.rint(np.where((raw <= 2.5 * m) & (empty > 0), few, raw)).astype(np.int64))


def _first_one(words: npt.NDArray[np.uint64], width: int) -> Bytes:
    """The position (from 1) of the highest one bit, or width + 1 where there is none."""
    # Each half fits a double without rounding, so the exponent is exact.
    high = (words >> np.uint64(32)).astype(np.float64)
    low = (words & np.uint64(0xFFFFFFFF)).astype(np.float64)
    zeros = np.where(high > 0, 32 - np.frexp(high)[1], np.where(low > 0, 64 - np.frexp(low)[1], width))
    return np.asarray(np.minimum(zeros, width) + 1, np.uint8)


def _to_arrow(registers: Bytes) -> pa.Array:
    rows, width = registers.shape
    offsets = pa.py_buffer((np.arange(rows + 1) * width).astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), rows, [None, offsets, pa.py_buffer(np.ascontiguousarray(registers))])
