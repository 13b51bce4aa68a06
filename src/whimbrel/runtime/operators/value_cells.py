"""Cells that hold values of any type: the least and greatest, the first and last by another column, exact sums of
decimals, moments, bounded lists and sets.

Where two candidates are equal the earlier one stays for the least and the later one wins for the greatest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.runtime.operators.combining import Index, Mask, update_by_joining
from whimbrel.state.extremes import Ranked
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import hash_keys

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExtremeCell:
    """The value with the least or greatest rank; the rank is the value itself, or the column ``by``."""

    name: str
    type: pa.DataType
    source: str
    greatest: bool
    by: str | None = None
    by_type: pa.DataType | None = None

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The value, and its rank where that is another column."""
        value = pa.field(self.name, self.type)
        return (value,) if self.by is None else (value, pa.field(f"{self.name}.by", self.by_type))

    @property
    def sources(self) -> tuple[str, ...]:
        """The value's column, and the rank's."""
        return (self.source,) if self.by is None else (self.source, self.by)

    @property
    def law(self) -> str:
        """How two values combine."""
        return "greatest" if self.greatest else "least"

    @property
    def neutral(self) -> tuple[Any, ...]:
        """No value."""
        return (None,) * len(self.fields)

    def start(self, batch: pa.RecordBatch, group: Index, groups: int) -> list[pa.Array]:
        """The extreme of each group of raw rows."""
        return self.join([batch.column(name) for name in self.sources], group, groups)

    def join(self, columns: Sequence[pa.Array], group: Index, groups: int) -> list[pa.Array]:
        """The extreme of each group of candidates."""
        chosen = extremes(columns[-1], group, groups, self.greatest)
        picked = pa.array(np.maximum(chosen, 0), mask=chosen < 0)
        return [column.take(picked) for column in columns]

    def update(self, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
        """The extreme of old and new."""
        now = [column.cast(was.type) for column, was in zip(new, old, strict=True)]
        before, after = Ranked.of(old[-1]), Ranked.of(now[-1])
        if before is None or after is None:
            return update_by_joining(self, old, known, new)
        better = ~before.above(after) if self.greatest else before.above(after)
        changed = ~known | (after.valid & (~before.valid | better))
        picked = pa.array(np.arange(known.size) + known.size * changed)
        return [pa.concat_arrays([was, column]).take(picked) for was, column in zip(old, now, strict=True)]


@dataclass(frozen=True, slots=True)
class DecimalSumCell:
    """An exact sum of decimals, ten digits wider than they are, as in Spark; OverflowError where that is too narrow."""

    name: str
    type: pa.DataType
    source: str

    law = "decimal sum"

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The sum."""
        return (pa.field(self.name, self.type),)

    @property
    def sources(self) -> tuple[str, ...]:
        """The column."""
        return (self.source,)

    @property
    def neutral(self) -> tuple[Any, ...]:
        """No sum."""
        return (None,)

    def start(self, batch: pa.RecordBatch, group: Index, groups: int) -> list[pa.Array]:
        """The sum of each group of raw rows."""
        return self.join([batch.column(self.source)], group, groups)

    def join(self, columns: Sequence[pa.Array], group: Index, groups: int) -> list[pa.Array]:
        """The sum of each group of sums; null where there is no value."""
        # Sums of 38 digits would wrap within 128 bits, so they are taken in 256; of fewer digits none can.
        wide = pa.decimal256(76, self.type.scale) if self.type.precision == 38 else self.type
        table = pa.table({"g": pa.array(group), "v": columns[0].cast(wide)})
        summed = table.group_by("g", use_threads=False).aggregate([("v", "sum")])
        at = np.full(groups, -1, np.int64)
        at[summed.column("g").to_numpy()] = np.arange(summed.num_rows)
        try:
            sums = summed.column("v_sum").combine_chunks().cast(self.type)
        except pa.ArrowInvalid:
            raise OverflowError(f"a sum of decimals exceeds {self.type}") from None
        return [sums.take(pa.array(np.maximum(at, 0), mask=at < 0))]

    def update(self, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
        """The sum of old and new."""
        return update_by_joining(self, old, known, new)


@dataclass(frozen=True, slots=True)
class MomentsCell:
    """Count, mean and the sum of squared distances from it: joined pairwise, never as a difference of large sums."""

    name: str
    source: str

    law = "moments"

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The three numbers."""
        return tuple(pa.field(f"{self.name}.{part}", pa.float64()) for part in ("count", "mean", "spread"))

    @property
    def sources(self) -> tuple[str, ...]:
        """The column."""
        return (self.source,)

    @property
    def neutral(self) -> tuple[Any, ...]:
        """Those of no values."""
        return (0.0, 0.0, 0.0)

    def start(self, batch: pa.RecordBatch, group: Index, groups: int) -> list[pa.Array]:
        """The moments of each group of raw rows."""
        column = batch.column(self.source)
        known = column.is_valid().to_numpy(zero_copy_only=False).astype(np.float64)
        values = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
        return _moments(known, values, np.zeros(values.size), group, groups)

    def join(self, columns: Sequence[pa.Array], group: Index, groups: int) -> list[pa.Array]:
        """The moments of each group of moments."""
        count, mean, spread = (column.to_numpy(zero_copy_only=False) for column in columns)
        return _moments(count, mean, spread, group, groups)

    def update(self, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
        """The moments of old and new."""
        return update_by_joining(self, old, known, new)


@dataclass(frozen=True, slots=True)
class ListCell:
    """Values in a list: the first ``limit`` (``all``), each once (``distinct``), or the greatest (``top``)."""

    name: str
    type: pa.DataType
    source: str
    keep: Literal["all", "distinct", "top"]
    limit: int | None = None

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The list."""
        return (pa.field(self.name, pa.list_(self.type)),)

    @property
    def sources(self) -> tuple[str, ...]:
        """The column."""
        return (self.source,)

    @property
    def law(self) -> str:
        """What the list keeps."""
        return f"{self.keep} {self.limit or 'unbounded'}"

    @property
    def neutral(self) -> tuple[Any, ...]:
        """An empty list."""
        return ([],)

    def start(self, batch: pa.RecordBatch, group: Index, groups: int) -> list[pa.Array]:
        """The list of each group of raw rows; nulls are left out."""
        column = batch.column(self.source)
        known = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        return [self._lists(column.take(pa.array(known)), group[known], groups)]

    def join(self, columns: Sequence[pa.Array], group: Index, groups: int) -> list[pa.Array]:
        """The list of each group of lists, in order."""
        lengths = columns[0].value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        return [self._lists(columns[0].flatten(), np.repeat(group, lengths), groups)]

    def update(self, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
        """The list of old and new."""
        return update_by_joining(self, old, known, new)

    def _lists(self, values: pa.Array, group: Index, groups: int) -> pa.Array:
        if self.keep == "distinct":
            first = group_rows(hash_keys([pa.array(group), values]))[1]
            values, group = values.take(pa.array(first)), group[first]
        # Ranks are negative so that the greatest comes first; among equals the earlier one.
        order = np.lexsort((-ranks(values), group)) if self.keep == "top" else np.argsort(group, kind="stable")
        counts = np.bincount(group, minlength=groups)
        if self.limit is not None:
            within = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
            order, counts = order[within < self.limit], np.minimum(counts, self.limit)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(order)), type=pa.list_(self.type))


def ranks(values: pa.Array) -> Index:
    """The dense rank of every value that is not null, in Spark's order: NaN is greater than any number."""
    order = pc.sort_indices(values).to_numpy()
    ranked = values.take(pa.array(order))
    same = np.zeros(order.size, np.bool_)
    if order.size > 1:
        same[1:] = pc.fill_null(pc.equal(ranked[1:], ranked[:-1]), False).to_numpy(zero_copy_only=False)
    found = np.empty(order.size, np.int64)
    found[order] = np.cumsum(~same)
    return found


def extremes(values: pa.Array, group: Index, groups: int, greatest: bool) -> Index:
    """The row of the least or greatest value of every group; -1 where all are null."""
    ranked = Ranked.of(values)
    if ranked is not None:
        return ranked.chosen(group, groups, greatest)
    known = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    order = known[pc.sort_indices(values.take(pa.array(known))).to_numpy()]
    order = order if greatest else order[::-1]
    chosen = np.full(groups, -1, np.int64)
    # Of several assignments to one place the last one stays.
    chosen[group[order]] = order
    return chosen


def _moments(count: Floats, mean: Floats, spread: Floats, group: Index, groups: int) -> list[pa.Array]:
    total = np.bincount(group, count, groups)
    joined = np.bincount(group, count * mean, groups) / np.maximum(total, 1)
    away = np.bincount(group, spread + count * (mean - joined[group]) ** 2, groups)
    return [pa.array(total), pa.array(joined), pa.array(away)]
