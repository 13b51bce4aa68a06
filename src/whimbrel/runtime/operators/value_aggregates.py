"""Aggregates beyond sums: spread, distinct values, first and last, the greatest few, lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whimbrel.model.errors import BadInput
from whimbrel.runtime.operators.aggregates import Aggregate, column_type
from whimbrel.runtime.operators.combining import StateCell
from whimbrel.runtime.operators.distinct_sketch import SketchCell
from whimbrel.runtime.operators.value_cells import ExtremeCell, ListCell, MomentsCell


@dataclass(frozen=True, slots=True)
class Spread(Aggregate):
    """Variance or standard deviation, of a sample or of the whole."""

    def cells(self, name: str, schema: pa.Schema) -> tuple[StateCell, ...]:
        """One cell of moments."""
        kind = column_type(schema, self.column, self.kind)
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise BadInput(f"the {self.kind} of column {self.column!r} ({kind}) is not available: cast it to a number")
        return (MomentsCell(name, self.column or ""),)

    def output_field(self, name: str, schema: pa.Schema) -> pa.Field:
        """A double."""
        return pa.field(name, pa.float64())

    def output(self, name: str, state: pa.RecordBatch) -> pa.Array:
        """Null where there are too few values, as in Spark."""
        count, spread = (state.column(f"{name}.{part}").to_numpy() for part in ("count", "spread"))
        free = count - 1 if self.kind.endswith("_samp") else count
        found = spread / np.maximum(free, 1)
        return pa.array(np.sqrt(found) if self.kind.startswith("stddev") else found, mask=free < 1)


@dataclass(frozen=True, slots=True)
class By(Aggregate):
    """The value in the row where another column is least or greatest."""

    by: str = ""

    def cells(self, name: str, schema: pa.Schema) -> tuple[StateCell, ...]:
        """One cell of value and rank."""
        value, rank = column_type(schema, self.column, self.kind), column_type(schema, self.by, self.kind)
        if pa.types.is_nested(rank):
            raise BadInput(f"column {self.by!r} ({rank}) has no order: name a column of numbers, times or strings")
        return (ExtremeCell(name, value, self.column or "", self.kind == "last", self.by, rank),)

    def output_field(self, name: str, schema: pa.Schema) -> pa.Field:
        """The value's own type."""
        return pa.field(name, column_type(schema, self.column, self.kind))


@dataclass(frozen=True, slots=True)
class Listed(Aggregate):
    """Values as a list, or how many there are in it."""

    limit: int | None = None

    def cells(self, name: str, schema: pa.Schema) -> tuple[StateCell, ...]:
        """One cell with the list."""
        if self.limit is not None and self.limit < 1:
            raise BadInput(f"the limit of {name} is {self.limit}: it must be 1 or more")
        kind = column_type(schema, self.column, self.kind)
        keep = {"collect": "all", "collect_set": "distinct", "distinct": "distinct", "top": "top"}[self.kind]
        return (ListCell(name, kind, self.column or "", keep, self.limit),)  # type: ignore[arg-type]

    def output_field(self, name: str, schema: pa.Schema) -> pa.Field:
        """A list, or a count."""
        if self.kind == "distinct":
            return pa.field(name, pa.int64())
        return pa.field(name, pa.list_(column_type(schema, self.column, self.kind)))

    def output(self, name: str, state: pa.RecordBatch) -> pa.Array:
        """The list, or its length."""
        column = state.column(name)
        return column.value_lengths().fill_null(0).cast(pa.int64()) if self.kind == "distinct" else column


@dataclass(frozen=True, slots=True)
class Sketched(Aggregate):
    """An estimate of the number of distinct values."""

    error: float = 0.05

    def cells(self, name: str, schema: pa.Schema) -> tuple[StateCell, ...]:
        """One cell with the sketch."""
        column_type(schema, self.column, self.kind)
        if not 0.004 <= self.error <= 0.3:
            raise BadInput(f"the error of {name} is {self.error}: it must lie between 0.004 and 0.3")
        return (self._cell(name),)

    def output_field(self, name: str, schema: pa.Schema) -> pa.Field:
        """A count."""
        return pa.field(name, pa.int64())

    def output(self, name: str, state: pa.RecordBatch) -> pa.Array:
        """The estimate."""
        return self._cell(name).estimate(state.column(name))

    def _cell(self, name: str) -> SketchCell:
        return SketchCell(name, self.column or "", SketchCell.precision_for(self.error))


def variance_of(column: str) -> Aggregate:
    """The sample variance, Spark's ``variance``; null below two values."""
    return Spread("variance_samp", column)


def stddev_of(column: str) -> Aggregate:
    """The sample standard deviation, Spark's ``stddev``; null below two values."""
    return Spread("stddev_samp", column)


def first_of(column: str, by: str) -> Aggregate:
    """The value of the row where ``by`` is least, Spark's ``min_by``; of equal rows the one that came first."""
    return By("first", column, by)


def last_of(column: str, by: str) -> Aggregate:
    """The value of the row where ``by`` is greatest, Spark's ``max_by``; of equal rows the one that came last."""
    return By("last", column, by)


def count_distinct(column: str) -> Aggregate:
    """How many distinct values, exactly. All of them are kept: for many per key use ``approx_count_distinct``."""
    return Listed("distinct", column)


def approx_count_distinct(column: str, error: float = 0.05) -> Aggregate:
    """About how many distinct values, from a sketch of fixed size with this standard error."""
    return Sketched("approx_count_distinct", column, error)


def top(column: str, k: int) -> Aggregate:
    """The ``k`` greatest values, greatest first."""
    return Listed("top", column, k)


def collect(column: str, limit: int) -> Aggregate:
    """The first ``limit`` values in order of arrival, without nulls."""
    return Listed("collect", column, limit)


def collect_set(column: str, limit: int | None = None) -> Aggregate:
    """Every value once, at most ``limit`` of them."""
    return Listed("collect_set", column, limit)
