"""Every aggregate under random rows and random moves, against plain Python over each key's values."""

import statistics
from collections import defaultdict
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from tests.operators.drawing import MOVES, cases, epochs_of, rows_of
from tests.operators.slots_in_memory import Slots

from whimbrel.model.errors import BadInput
from whimbrel.runtime.operators import aggregates as plain
from whimbrel.runtime.operators import value_aggregates as values
from whimbrel.runtime.operators.keyed_aggregate import KeyedAggregate

SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("d", pa.decimal128(9, 2)),
        ("b", pa.bool_()),
        ("order", pa.int64()),
    ]
)
ROW = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.none() | st.integers(-9, 9),
    st.none() | st.integers(-80, 80).map(lambda v: v / 8),
    st.none() | st.text("abü", max_size=3),
    st.none() | st.integers(-999, 999).map(lambda v: Decimal(v) / 100),
    st.none() | st.booleans(),
)
EPOCHS = epochs_of(rows_of(ROW, 7), MOVES, most=6)

AGGREGATES = {
    "count": (plain.count("s"), lambda rows: len(known(rows, "s"))),
    "sum": (plain.sum_of("n"), lambda rows: total(known(rows, "n"))),
    "decimal sum": (plain.sum_of("d"), lambda rows: total(known(rows, "d"))),
    "mean": (plain.mean_of("n"), lambda rows: average(known(rows, "n"))),
    "least string": (plain.min_of("s"), lambda rows: min(known(rows, "s"), default=None, key=str.encode)),
    "greatest decimal": (plain.max_of("d"), lambda rows: max(known(rows, "d"), default=None)),
    "least boolean": (plain.min_of("b"), lambda rows: min(known(rows, "b"), default=None)),
    "variance": (values.variance_of("x"), lambda rows: spread(known(rows, "x"), statistics.variance)),
    "deviation": (values.stddev_of("n"), lambda rows: spread(known(rows, "n"), statistics.stdev)),
    "first": (values.first_of("s", "order"), lambda rows: rows[0]["s"]),
    "last": (values.last_of("s", "order"), lambda rows: rows[-1]["s"]),
    "distinct": (values.count_distinct("s"), lambda rows: len(set(known(rows, "s")))),
    "top": (values.top("n", 3), lambda rows: sorted(known(rows, "n"), reverse=True)[:3]),
    "few": (values.collect("n", 4), lambda rows: known(rows, "n")[:4]),
    "set": (values.collect_set("s"), lambda rows: list(dict.fromkeys(known(rows, "s")))),
    # So fine that no two of the forty texts above share a register: two that do are counted as one, which is no fault.
    "about": (values.approx_count_distinct("s", 0.01), lambda rows: len(set(known(rows, "s")))),
}


def known(rows, column):
    return [row[column] for row in rows if row[column] is not None]


def total(found):
    return sum(found) if found else None


def average(found):
    return sum(found) / len(found) if found else None


def spread(found, law):
    return law(found) if len(found) > 1 else None


@cases(EPOCHS)
def test_every_aggregate_is_that_of_all_the_values_of_its_key(epochs):
    names = {f"a{number}": name for number, name in enumerate(AGGREGATES)}
    chosen = {column: AGGREGATES[name][0] for column, name in names.items()}
    slots = Slots(KeyedAggregate("all", ["k"], chosen, SCHEMA))
    held, order = defaultdict(list), 0
    for rows, moves in epochs:
        made = []
        for row in rows:
            made.append(dict(zip(SCHEMA.names, (*row, order), strict=True)))
            held[row[0]].append(made[-1])
            order += 1
        emitted = slots.run(pa.Table.from_pylist(made, schema=SCHEMA), moves=moves)
        assert {row["k"] for row in emitted} == {row[0] for row in rows}
        for row in emitted:
            for column, name in names.items():
                assert close(row[column], AGGREGATES[name][1](held[row["k"]])), name


def close(found, expected):
    if isinstance(expected, float) and found is not None:
        return abs(found - expected) < 1e-9
    return found == expected


@pytest.mark.parametrize("distinct", [10, 1_000, 30_000])
def test_a_sketch_is_as_near_as_it_says(distinct):
    error = 0.02
    slots = Slots(KeyedAggregate("d", ["k"], {"n": values.approx_count_distinct("n", error)}, SCHEMA))
    seen = set()
    for part in range(3):
        numbers = (np.arange(distinct) + part * (distinct // 2)) * 7919
        seen.update(numbers.tolist())
        rows = pa.Table.from_pylist([{"k": "a", "n": number} for number in numbers.tolist()], schema=SCHEMA)
        found = slots.run(rows)
    assert abs(found[0]["n"] - len(seen)) <= 4 * error * len(seen)


def test_what_cannot_be_aggregated_is_refused():
    with pytest.raises(BadInput, match="cast it to a number"):
        KeyedAggregate("x", ["k"], {"v": values.variance_of("s")}, SCHEMA)
    with pytest.raises(BadInput, match="no column 'q'"):
        KeyedAggregate("x", ["k"], {"v": values.first_of("s", "q")}, SCHEMA)
    with pytest.raises(BadInput, match="must be 1 or more"):
        KeyedAggregate("x", ["k"], {"v": values.top("n", 0)}, SCHEMA)
