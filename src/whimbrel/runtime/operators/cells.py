"""Cells: the numbers that an aggregate is made of, and the one way in which two of them combine.

Every ready-made aggregate is one or two cells. A cell combines by sum, min or max, is exact for integers, and may
be null until the first valid value. That is why the router may combine before the shuffle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.state.grouping import add_exactly, count_by_group, max_by_group, min_by_group, sum_by_group

Combine = Literal["sum", "min", "max"]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_EXTREME = {"min": min_by_group, "max": max_by_group}


@dataclass(frozen=True, slots=True)
class Cell:
    """One number per key. ``source`` is the input column, or None to count rows; ``counts`` counts valid values.

    Where it ``wraps``, a sum of integers wraps around at 64 bits as in Java; else that is an OverflowError.
    """

    name: str
    type: pa.DataType
    combine: Combine
    source: str | None = None
    counts: bool = False
    wraps: bool = False

    @property
    def is_float(self) -> bool:
        """Whether the number is held as a double."""
        return bool(pa.types.is_floating(self.type))

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The one state column."""
        return (pa.field(self.name, self.type),)

    @property
    def sources(self) -> tuple[str, ...]:
        """The column that it reads, if any."""
        return () if self.source is None else (self.source,)

    @property
    def law(self) -> str:
        """How two numbers combine."""
        return self.combine

    @property
    def neutral(self) -> tuple[Any, ...]:
        """A count of none, or no number yet."""
        return (0 if self.counts or self.source is None else None,)

    def start(self, batch: pa.RecordBatch, group: npt.NDArray[np.int64], groups: int) -> list[pa.Array]:
        """The number of each group of raw rows."""
        return [self.to_arrow(*self.reduce(*self.first_values(batch), group, groups))]

    def join(self, columns: Sequence[pa.Array], group: npt.NDArray[np.int64], groups: int) -> list[pa.Array]:
        """The number of each group of partial numbers."""
        if groups == group.size:
            return list(columns)
        return [self.to_arrow(*self.reduce(*numbers_of(columns[0], self.is_float), group, groups))]

    def update(self, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
        """The number after an epoch."""
        old_numbers, old_valid = numbers_of(old[0], self.is_float)
        new_numbers, new_valid = numbers_of(new[0], self.is_float)
        was = known if old_valid is None else old_valid & known
        now = np.ones(known.size, np.bool_) if new_valid is None else new_valid
        return [self.to_arrow(*self.merge(old_numbers, was, new_numbers, now))]

    def first_values(self, batch: pa.RecordBatch) -> tuple[Numbers, Mask | None]:
        """The cell's number for every raw row."""
        if self.source is None:
            return np.ones(batch.num_rows, np.int64), None
        column = batch.column(self.source)
        if self.counts:
            return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.int64), None
        return numbers_of(column, self.is_float)

    def reduce(
        self, values: Numbers, valid: Mask | None, group: npt.NDArray[np.int64], groups: int
    ) -> tuple[Numbers, Mask]:
        """One number per group, and whether it is valid."""
        if self.combine == "sum":
            reduced = sum_by_group(values, group, groups, valid, exact=not self.wraps)
        else:
            reduced = _EXTREME[self.combine](values, group, groups, valid)
        if valid is None:
            return reduced, np.ones(groups, np.bool_)
        return reduced, count_by_group(group, groups, valid) > 0

    def merge(self, old: Numbers, old_valid: Mask, new: Numbers, new_valid: Mask) -> tuple[Numbers, Mask]:
        """The state after an epoch, from the state before and the epoch's own number."""
        both = old_valid & new_valid
        if self.combine == "sum":
            combined = old + new if self.wraps else add_exactly(old, new, both)
        elif self.is_float:
            combined = _float_extreme(old, new, self.combine)
        else:
            combined = np.minimum(old, new) if self.combine == "min" else np.maximum(old, new)
        merged = np.where(both, combined, np.where(new_valid, new, old))
        return merged, old_valid | new_valid

    def to_arrow(self, values: Numbers, valid: Mask | None) -> pa.Array:
        """The numbers as an Arrow array of the cell's type."""
        mask = None if valid is None or valid.all() else ~valid
        plain = pa.array(values, mask=mask)
        if plain.type == self.type:
            return plain
        return plain.cast(pa.int32()).view(self.type) if self.type == pa.date32() else _retype(plain, self.type)


def _float_extreme(old: Numbers, new: Numbers, combine: Combine) -> Numbers:
    # NaN is the greatest value, as in Spark.
    if combine == "max":
        return np.where(np.isnan(old) | np.isnan(new), np.nan, np.maximum(old, new))
    return np.fmin(old, new)


def numbers_of(column: pa.Array, as_float: bool) -> tuple[Numbers, Mask | None]:
    """A fixed-width column as int64 or float64 with its validity; temporal values as their integers."""
    valid = None if not column.null_count else column.is_valid().to_numpy(zero_copy_only=False)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.view(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.view(pa.int32())
    target = pa.float64() if as_float else pa.int64()
    filled = pc.fill_null(pc.cast(column, target), 0)
    return filled.to_numpy(zero_copy_only=False), valid


def _retype(plain: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return plain.view(kind)
    return pc.cast(plain, kind)
