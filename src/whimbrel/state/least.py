"""The least value of a column per chunk of rows: what makes ``nothing is due`` an answer that costs almost nothing.

A chunk's value is never above the least one that it holds; it may be below after a row was changed or deleted, and
becomes exact when the chunk is next looked at. Rows that come together lie together, so what falls due together is in few
chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from whimbrel.state import row_kernels
from whimbrel.state.area import Area
from whimbrel.state.layout import Place

if TYPE_CHECKING:
    from whimbrel.state.table import KeyedTable

_PER_CHUNK = row_kernels.ROWS_PER_CHUNK


class LeastValues:
    """The least values of one column. They start empty and take in every row at the first question."""

    def __init__(self, place: Place) -> None:
        self.place, self.area = place, Area()
        self._chunks = 0

    def lower(self, table: KeyedTable, rows: npt.NDArray[np.int64]) -> None:
        """Takes in the new values of changed rows."""
        self._cover(table)
        place = self.place
        bad = row_kernels.lower_least(table.rows, rows, place.word, place.null_word, place.null_bit, self.area.words)
        table.sound(bad < 0, "the least values")

    def due(self, table: KeyedTable, bound: int) -> npt.NDArray[np.int64]:
        """The rows whose value is below the bound, in no order."""
        if self._chunks == 0:
            self.lower(table, table.scan())
        self._cover(table)
        chunks = np.empty(self._chunks, np.int64)
        found = row_kernels.due_chunks(self.area.words, self._chunks, bound, chunks)
        table.sound(found >= 0, "the least values")
        if not found:
            return np.empty(0, np.int64)
        out, place = np.empty(found * _PER_CHUNK, np.int64), self.place
        due = row_kernels.rows_due(
            table.rows, chunks[:found], table.used, place.word, place.null_word, place.null_bit, bound,
            self.area.words, out,
        )  # fmt: skip
        table.sound(due >= 0, "a row that may be due")
        return out[:due]

    def _cover(self, table: KeyedTable) -> None:
        chunks = -(-table.used // _PER_CHUNK)
        if chunks > self._chunks:
            self.area.reserve(2 * chunks)
            row_kernels.clear_least(self.area.words, self._chunks, chunks)
            self._chunks = chunks
