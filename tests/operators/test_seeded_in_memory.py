"""Operators that begin with rows from elsewhere, under random rows and random moves."""

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from tests.operators import random_rows
from tests.operators.drawing import EPOCHS, KEYS, cases, table_of
from tests.operators.slots_in_memory import Slots

import whimbrel as wb
from whimbrel.model.errors import BadInput, OperatorFailed
from whimbrel.runtime.operators.dedup import Dedup
from whimbrel.runtime.operators.enrichment import Enrichment
from whimbrel.runtime.operators.expiry import Expiry
from whimbrel.runtime.operators.keyed_aggregate import KeyedAggregate
from whimbrel.runtime.operators.seeded import Seed, Seeded
from whimbrel.runtime.operators.windows import START, WindowedAggregate, WindowShape

SCHEMA = random_rows.SCHEMA.remove(3)
HISTORY = st.dictionaries(KEYS, st.integers(-50, 50))


def beginning(operator, table, rows):
    """The operator in memory after its first epoch, in which only the initial rows came."""
    wanted = operator.begins_with(table, operator_table(operator, table))
    slots = Slots(Seeded(operator, [Seed(table, wanted)]))
    slots.run(*[table_of([])] * len(operator.sides), pa.Table.from_pylist(rows, schema=wanted))
    return slots, wanted.empty_table()


def operator_table(operator, table):
    spec = next(spec for spec in operator.tables() if spec.name == table)
    return pa.schema([*spec.key, *spec.value])


@cases(EPOCHS, HISTORY)
def test_an_aggregate_goes_on_from_its_initial_rows(epochs, history):
    operator = KeyedAggregate("a", ["k"], {"n": wb.count(), "s": wb.sum_of("v")}, SCHEMA)
    slots, nothing = beginning(operator, "keys", [{"k": k, "n": 1, "s": s} for k, s in history.items()])
    counts, sums = dict.fromkeys(history, 1), dict(history)
    for rows, moves in epochs:
        for key, _, value in rows:
            counts[key] = counts.get(key, 0) + 1
            if value is not None:
                sums[key] = sums.get(key, 0) + value
        found = slots.run(table_of(rows), nothing, moves=moves)
        expected = {(key, counts[key], sums.get(key)) for key, _, _ in rows}
        assert {(row["k"], row["n"], row["s"]) for row in found} == expected
    slots.run(table_of([]), nothing)
    assert slots.rows_of("keys") == len(counts) and slots.migrations >= 4


@cases(EPOCHS, HISTORY)
def test_dedup_knows_the_keys_that_it_began_with(epochs, history):
    slots, nothing = beginning(Dedup("d", ["k"], SCHEMA), "seen", [{"k": k} for k in history])
    for rows, moves in epochs:
        slots.run(table_of(rows), nothing, moves=moves)
    seen = {key for rows, _ in epochs for key, _, _ in rows}
    assert sorted((row["k"] for row in slots.emitted), key=repr) == sorted(seen - set(history), key=repr)


def test_enrichment_begins_with_a_table():
    people = pa.schema([("k", pa.string()), ("city", pa.string())])
    operator = Enrichment("e", SCHEMA, people, ["k"], ["k"], "left")
    seeded = Slots(Seeded(operator, [Seed("values", operator.begins_with("values", people))]))
    given = pa.Table.from_pylist([{"k": "a", "city": "Rome"}], schema=people)
    found = seeded.run(table_of([("a", 1, 1), ("b", 1, 1)]), people.empty_table(), given)
    assert {row["k"]: row["city"] for row in found} == {"a": "Rome", "b": None}


def test_initial_rows_count_as_touched_in_the_first_epoch():
    operator = KeyedAggregate("a", ["k"], {"n": wb.count()}, SCHEMA, Expiry(50))
    slots = Slots(Seeded(operator, [Seed("keys", pa.schema([("k", pa.string()), ("n", pa.int64())]))]))
    nothing = pa.schema([("k", pa.string()), ("n", pa.int64())]).empty_table()
    slots.run(table_of([]), pa.table({"k": ["a"], "n": [7]}), now_ms=100)
    slots.run(table_of([]), nothing, now_ms=149)
    assert slots.rows_of("keys") == 1
    slots.run(table_of([]), nothing, now_ms=150)
    assert slots.rows_of("keys") == 0


def test_a_window_goes_on_from_its_initial_rows():
    shape = WindowShape(10_000_000, 10_000_000)
    operator = WindowedAggregate("w", ["k"], "at", shape, {"n": wb.count()}, SCHEMA, "5 seconds", True)
    start = random_rows.since_epoch(10)
    slots, nothing = beginning(operator, "windows", [{"k": "a", START: start, "n": 5}])
    slots.run(table_of([("a", 12, 1), ("a", 40, 1)]), nothing)
    slots.run(table_of([]), nothing)
    assert [(row["k"], row["n"]) for row in slots.emitted] == [("a", 6)]


def test_two_initial_rows_of_one_key_are_refused():
    operator = KeyedAggregate("a", ["k"], {"n": wb.count()}, SCHEMA)
    with pytest.raises(OperatorFailed, match=r"two rows for the key \{'k': 'a'\}"):
        beginning(operator, "keys", [{"k": k, "n": 1} for k in ("a", "b", "a")])
    with pytest.raises(BadInput, match="lack the columns n"):
        operator.begins_with("keys", pa.schema([("k", pa.string())]))
