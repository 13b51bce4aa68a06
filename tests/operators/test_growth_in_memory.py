"""Operators that gain columns at a restart, under random rows and random moves before and after it."""

from collections import defaultdict

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import LongType, StructField, StructType
from tests.operators import test_aggregates_in_memory as drawn
from tests.operators.drawing import MOVES, cases, epochs_of, rows_of, table_of
from tests.operators.slots_in_memory import Slots

import whimbrel as wb
from whimbrel.model.errors import JobMismatch
from whimbrel.runtime.opening import describe_tables, why_not_grow
from whimbrel.runtime.operators.keyed_aggregate import KeyedAggregate
from whimbrel.runtime.operators.processor import Processor, ProcessorTime
from whimbrel.runtime.operators.state_machine import StateMachine
from whimbrel.runtime.operators.windows import WindowedAggregate, WindowShape
from whimbrel.state.ledger import SlotLedger

FIRST = ("count", "sum")
EPOCHS = epochs_of(rows_of(drawn.ROW, 5), MOVES, most=5)


def aggregating(names):
    return KeyedAggregate("all", ["k"], {n: drawn.AGGREGATES[n][0] for n in names}, drawn.SCHEMA)


def described(operator):
    return operator.describe() | {"schemas": describe_tables(operator.tables())}


@cases(EPOCHS, EPOCHS, st.permutations(list(drawn.AGGREGATES)))
def test_a_new_aggregate_begins_with_the_rows_after_the_restart(before, after, names):
    slots, held, since = Slots(aggregating(FIRST)), defaultdict(list), defaultdict(list)
    order = 0
    for number, (rows, moves) in enumerate([*before, ([], None), *after]):
        if number == len(before) + 1:
            slots.restart(aggregating(names))
        made = []
        for row in rows:
            made.append(dict(zip(drawn.SCHEMA.names, (*row, order), strict=True)))
            order += 1
            held[row[0]].append(made[-1])
            if number > len(before):
                since[row[0]].append(made[-1])
        emitted = slots.run(pa.Table.from_pylist(made, schema=drawn.SCHEMA), moves=moves)
        for row in emitted:
            for name in FIRST if number <= len(before) else names:
                rows_of_key = held if name in FIRST else since
                assert drawn.close(row[name], drawn.AGGREGATES[name][1](rows_of_key[row["k"]])), name
    assert slots.migrations >= 6


def test_a_window_that_was_open_at_the_restart_closes_with_neutral_values():
    def windows(**aggregates):
        shape = WindowShape(10_000_000, 10_000_000)
        return WindowedAggregate("w", ["k"], "at", shape, aggregates, table_of([]).schema, "5 seconds", True)

    slots = Slots(windows(n=wb.count()))
    slots.run(table_of([("a", 3, 1)]))
    slots.run(table_of([("a", 30, 1)]))
    more = {"m": wb.mean_of("v"), "d": wb.approx_count_distinct("v"), "s": wb.stddev_of("v"), "t": wb.top("v", 2)}
    slots.restart(windows(n=wb.count(), **more))
    closed = slots.run(table_of([])) + slots.run(table_of([]))
    assert [(row["n"], row["m"], row["d"], row["s"], row["t"]) for row in closed] == [(1, None, 0, None, [])]


def folding(columns, defaults=None):
    keys, state = pa.schema([("k", pa.string())]), pa.schema([(c, pa.int64()) for c in columns])

    def fold(old, rows):
        return tuple((getattr(old, c) if old else 0) + len(rows) for c in columns)

    return StateMachine("f", keys, state, ["k", "at", "v"], fold, defaults=defaults)


def test_a_fold_finds_the_default_in_a_column_that_its_keys_did_not_have():
    slots = Slots(folding(["n"]))
    slots.run(table_of([("a", 0, 1), ("a", 0, 2), ("b", 0, 1)]), moves=dict.fromkeys(range(8), 2))
    slots.run(table_of([]))
    slots.restart(folding(["more", "n"], {"more": 100}))
    found = slots.run(table_of([("a", 0, 1), ("c", 0, 1)]), moves=dict.fromkeys(range(8), 0))
    assert sorted((row["k"], row["more"], row["n"]) for row in found) == [("a", 101, 3), ("c", 1, 1)]
    slots.run(table_of([]))
    assert slots.run(table_of([("b", 0, 1)]))[0] == {"k": "b", "more": 101, "n": 2}


class Keeping(StatefulProcessor):
    """Declares what it is told to, and says what it holds."""

    def __init__(self, **variables):
        self.variables = variables

    def init(self, handle):
        self.held = {
            name: handle.getValueState(name, StructType([StructField(c, LongType()) for c in columns]))
            for name, columns in self.variables.items()
        }

    def handleInputRows(self, key, rows, timerValues):
        found = {name: state.get() for name, state in self.held.items()}
        for name, state in self.held.items():
            state.update(tuple(range(len(self.variables[name]))))
        yield pd.DataFrame({"k": [key[0]], "found": [repr(found)]})

    def close(self):
        pass


def test_a_processor_gains_a_state_and_a_field():
    def keeping(**variables):
        output = pa.schema([("k", pa.string()), ("found", pa.string())])
        return Processor("p", ["k"], table_of([]).schema, Keeping(**variables), output, ProcessorTime())

    slots = Slots(keeping(one="a"))
    slots.run(table_of([("x", 0, 0)]))
    slots.restart(keeping(one="ab", two="c"))
    assert slots.run(table_of([("x", 0, 0)]))[0]["found"] == "{'one': (0, None), 'two': None}"


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        (folding(["n", "m"]), folding(["n"]), "keeps 'm int64' among its state"),
        (aggregating(["sum"]), aggregating(["count"]), "keeps 'sum int64 sum' among its cells"),
        (folding(["n"]), aggregating(["count"]), "rests on kind='state_machine'"),
    ],
)
def test_what_loses_state_is_no_growth(was, now, words):
    assert words in why_not_grow(described(was), described(now))
    assert why_not_grow(described(was), described(was)) == ""


def test_state_of_tables_that_an_operator_never_had_is_refused():
    slots = Slots(folding(["n"]))
    slots.run(table_of([("a", 0, 1)]))
    stranger = folding(["q"])
    with pytest.raises(JobMismatch, match="never had"):
        SlotLedger.open(slots.backends[0], stranger.tables(), 3, earlier=[folding(["r"]).tables()])
