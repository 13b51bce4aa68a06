"""What a user may ask for per key: count, sum, min, max, mean. Each becomes one or two cells and an output column."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.model.errors import BadInput
from whimbrel.runtime.operators.cells import Cell
from whimbrel.runtime.operators.combining import StateCell
from whimbrel.runtime.operators.value_cells import DecimalSumCell, ExtremeCell


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of one column; make it with ``count``, ``sum_of``, ``min_of``, ``max_of`` or ``mean_of``.

    Where it ``wraps``, a sum of integers wraps around at 64 bits, as Spark's does without ANSI mode; else the operator fails.
    """

    kind: str
    column: str | None = None
    wraps: bool = field(default=False, kw_only=True)

    def cells(self, name: str, schema: pa.Schema) -> tuple[StateCell, ...]:
        """The cells behind the output column ``name``; BadInput where the column cannot be aggregated so."""
        if self.kind == "count":
            return (Cell(name, pa.int64(), "sum", self.column, counts=True),)
        kind = self._type_in(schema)
        if self.kind == "mean":
            total = Cell(f"{name}.sum", pa.float64(), "sum", self.column)
            return (total, Cell(f"{name}.count", pa.int64(), "sum", self.column, counts=True))
        if self.kind == "sum" and pa.types.is_decimal128(kind):
            return (DecimalSumCell(name, pa.decimal128(min(38, kind.precision + 10), kind.scale), self.column or ""),)
        if self.kind == "sum":
            wide = pa.float64() if pa.types.is_floating(kind) else pa.int64()
            return (Cell(name, wide, "sum", self.column, wraps=self.wraps),)
        if not _is_number(kind):
            return (ExtremeCell(name, kind, self.column or "", self.kind == "max"),)
        return (Cell(name, kind, "min" if self.kind == "min" else "max", self.column),)

    def output_field(self, name: str, schema: pa.Schema) -> pa.Field:
        """The output column."""
        if self.kind == "mean":
            return pa.field(name, pa.float64())
        return pa.field(name, self.cells(name, schema)[0].fields[0].type)

    def output(self, name: str, state: pa.RecordBatch) -> pa.Array:
        """The output column of rows of state."""
        if self.kind != "mean":
            return state.column(name)
        count = state.column(f"{name}.count")
        return pc.divide(state.column(f"{name}.sum"), pc.if_else(pc.equal(count, 0), None, count.cast(pa.float64())))

    def _type_in(self, schema: pa.Schema) -> pa.DataType:
        kind = column_type(schema, self.column, self.kind)
        fits = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if fits or (pa.types.is_decimal128(kind) and self.kind == "sum"):
            return kind
        if self.kind in {"min", "max"} and not pa.types.is_nested(kind):
            return kind
        raise BadInput(
            f"the {self.kind} of column {self.column!r} ({kind}) is not available: cast it to a number or use state_machine"
        )


def column_type(schema: pa.Schema, column: str | None, kind: str) -> pa.DataType:
    """The type of a column; BadInput where there is none of this name."""
    index = schema.get_field_index(column)
    if index < 0:
        raise BadInput(f"there is no column {column!r} to take the {kind} of: the stream has {', '.join(schema.names)}")
    return schema.field(index).type


def _is_number(kind: pa.DataType) -> bool:
    temporal = pa.types.is_timestamp(kind) or pa.types.is_date32(kind)
    return bool(temporal or pa.types.is_integer(kind) or pa.types.is_floating(kind))


def count(column: str | None = None) -> Aggregate:
    """How many rows, or how many non-null values of a column."""
    return Aggregate("count", column)


def sum_of(column: str) -> Aggregate:
    """The sum of a column of numbers or decimals; null while there is no value, as in Spark.

    A sum that leaves its type (64 bits, 38 digits) is an OperatorFailed; where the session's ``spark.sql.ansi.enabled``
    is off when the operator is built, integers wrap around as Spark's do.
    """
    return Aggregate("sum", column)


def min_of(column: str) -> Aggregate:
    """The least value of a column: numbers, dates, times, strings, decimals, booleans, bytes."""
    return Aggregate("min", column)


def max_of(column: str) -> Aggregate:
    """The greatest value of a column: numbers, dates, times, strings, decimals, booleans, bytes."""
    return Aggregate("max", column)


def mean_of(column: str) -> Aggregate:
    """The mean of a numeric column."""
    return Aggregate("mean", column)
