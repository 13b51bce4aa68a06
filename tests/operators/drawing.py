"""What Hypothesis draws for an operator: epochs of rows, and the bins that move after each."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from tests.operators import random_rows

KEYS = st.sampled_from(["a", "b", "c", None])
TIMES = st.one_of(st.none(), st.integers(0, 60))
VALUES = st.one_of(st.none(), st.integers(-5, 5))
ROW = st.tuples(KEYS, TIMES, VALUES)
MOVES = st.dictionaries(st.integers(0, 7), st.integers(0, 2), max_size=3)
EPOCHS = st.lists(st.tuples(st.lists(ROW, max_size=6), MOVES), min_size=1, max_size=7)
QUIET: list[tuple[list[Any], dict[int, int]]] = [([], {}), ([], {})]


def table_of(rows, names=("k", "at", "v")):
    """Rows of (key, seconds since 1970, value) as a table, under these names."""
    made = [{"k": k, "at": None if at is None else random_rows.since_epoch(at), "v": v} for k, at, v in rows]
    table = pa.Table.from_pylist(made, schema=random_rows.SCHEMA).select(["k", "at", "v"])
    return table.rename_columns(list(names))


def seconds(instant):
    """Seconds since 1970, None for None."""
    return None if instant is None else int((instant - random_rows.EPOCH).total_seconds())
