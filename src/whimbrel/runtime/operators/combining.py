"""Cells side by side: how the state columns of several aggregates begin, join and grow together.

A cell turns raw rows into a partial value per group (``start``), joins partial values (``join``) and takes a new
partial into the state (``update``). ``start`` then ``join`` over any split of the rows, kept in order, gives what
``start`` over all of them gives: that is why the router may combine first and mappers in any number may run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model.errors import OperatorFailed

Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class StateCell(Protocol):
    """One aggregate's state: one or more columns per key."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The state columns."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The input columns that it reads."""

    @property
    def law(self) -> str:
        """How values combine, in a word: state made under one law cannot go on under another."""

    @property
    def neutral(self) -> tuple[Any, ...]:
        """The state columns of a key without rows: what keys from before the aggregate was asked for begin with."""

    def start(self, batch: pa.RecordBatch, group: Index, groups: int) -> list[pa.Array]:
        """The state columns of each group of raw rows."""

    def join(self, columns: Sequence[pa.Array], group: Index, groups: int) -> list[pa.Array]:
        """The state columns of each group of partial values, earlier ones first."""

    def update(self, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
        """The state after ``new``; ``old`` counts where it is ``known``."""


def update_by_joining(cell: StateCell, old: Sequence[pa.Array], known: Mask, new: Sequence[pa.Array]) -> list[pa.Array]:
    """``update`` in terms of ``join``: the old value first, then the new one."""
    places = np.flatnonzero(known)
    both = [
        pa.concat_arrays([was.take(pa.array(places)), now.cast(was.type) if now.type != was.type else now])
        for was, now in zip(old, new, strict=True)
    ]
    return cell.join(both, np.concatenate([places, np.arange(known.size)]), known.size)


class Cells:
    """The cells of an operator, in order. Raises OperatorFailed where a value leaves the type of its column."""

    def __init__(self, cells: Sequence[StateCell], operator: str) -> None:
        self.cells, self._operator = tuple(cells), operator
        self.schema = pa.schema([field for cell in self.cells for field in cell.fields])
        self.sources = tuple(dict.fromkeys(source for cell in self.cells for source in cell.sources))

    @property
    def defaults(self) -> dict[str, Any]:
        """The neutral value of every state column."""
        found: dict[str, Any] = {}
        for cell in self.cells:
            found.update(zip([field.name for field in cell.fields], cell.neutral, strict=True))
        return found

    def describe(self) -> list[str]:
        """Every state column with its type and law."""
        return [f"{field.name} {field.type} {cell.law}" for cell in self.cells for field in cell.fields]

    def start(self, batch: pa.RecordBatch, group: Index, groups: int) -> pa.RecordBatch:
        """Partial values of raw rows, one row per group."""
        return self._batch(lambda cell: cell.start(batch, group, groups))

    def join(self, partial: pa.RecordBatch, group: Index, groups: int) -> pa.RecordBatch:
        """Partial values joined to one row per group, the groups numbered by their first rows."""
        if groups == group.size:
            return partial.select(self.schema.names).cast(self.schema)
        return self._batch(lambda cell: cell.join(self._of(cell, partial), group, groups))

    def update(self, old: pa.RecordBatch, known: Mask, new: pa.RecordBatch) -> pa.RecordBatch:
        """The state after new partial values, row by row."""
        return self._batch(lambda cell: cell.update(self._of(cell, old), known, self._of(cell, new)))

    def _of(self, cell: StateCell, batch: pa.RecordBatch) -> list[pa.Array]:
        return [batch.column(field.name) for field in cell.fields]

    def _batch(self, work: Callable[[StateCell], list[pa.Array]]) -> pa.RecordBatch:
        arrays: list[pa.Array] = []
        for cell in self.cells:
            try:
                arrays += work(cell)
            except OverflowError as error:
                raise OperatorFailed(
                    f"operator {self._operator!r}: {cell.fields[0].name!r}, over column {', '.join(cell.sources)!r}: {error}; "
                    "cast the column to a wider type (a decimal of 38 digits, a double) in a new job"
                ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
