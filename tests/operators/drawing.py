"""What Hypothesis draws for an operator: epochs of rows, and the bins that move after each.

Every case has at least four epochs and every epoch ends with a migration that really happens, so that at least three of
them lie in the middle of the rows. Half of the cases repeat some of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operators import random_rows

CASES_BY_DAY = 50
KEYS = st.sampled_from(["a", "b", "c", None])
TIMES = st.one_of(st.none(), st.integers(0, 60))
VALUES = st.one_of(st.none(), st.integers(-5, 5))
ROW = st.tuples(KEYS, TIMES, VALUES)


@dataclass(frozen=True)
class Turn:
    """Bins that leave for the ``by``-th slot after their own; a bin of the other parity than the epoch stays.

    A bin is on its way for one epoch, so one that leaves every other epoch never waits, and the step is never empty.
    """

    pairs: frozenset[int]
    by: int

    def moves(self, epoch: int, owner: Any, slots: int) -> dict[int, int]:
        """The bins and the slots that they go to."""
        return {b: (int(owner[b]) + self.by) % slots for b in (2 * pair + epoch % 2 for pair in self.pairs)}


MOVES = st.builds(Turn, st.frozensets(st.integers(0, 3), min_size=1), st.integers(1, 2))
QUIET: list[tuple[list[Any], dict[int, int]]] = [([], {}), ([], {})]


def _with_repeats(rows: list[Any], again: list[int]) -> list[Any]:
    return [*rows, *(rows[i % len(rows)] for i in again)] if rows else rows


def rows_of(row: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[list[Any]]:
    """A few rows of an epoch, some of them twice."""
    return st.builds(_with_repeats, st.lists(row, max_size=most), st.lists(st.integers(0, most), max_size=2))


def epochs_of(*parts: st.SearchStrategy[Any], most: int = 8) -> st.SearchStrategy[list[Any]]:
    """Epochs of these parts, in order."""
    return st.lists(st.tuples(*parts), min_size=4, max_size=most)


EPOCHS = epochs_of(rows_of(ROW, 6), MOVES)


def cases(*strategies: st.SearchStrategy[Any], share: int = 1) -> Any:
    """``given`` with fifty cases by day and two thousand by night; ``share`` splits them among parameters."""

    def wrapped(test: Any) -> Any:
        wanted = max(CASES_BY_DAY, settings.default.max_examples) // share  # type: ignore[union-attr]
        return settings(max_examples=wanted)(given(*strategies)(test))

    return wrapped


def table_of(rows, names=("k", "at", "v")):
    """Rows of (key, seconds since 1970, value) as a table, under these names."""
    made = [{"k": k, "at": None if at is None else random_rows.since_epoch(at), "v": v} for k, at, v in rows]
    table = pa.Table.from_pylist(made, schema=random_rows.SCHEMA).select(["k", "at", "v"])
    return table.rename_columns(list(names))


def seconds(instant):
    """Seconds since 1970, None for None."""
    return None if instant is None else int((instant - random_rows.EPOCH).total_seconds())
