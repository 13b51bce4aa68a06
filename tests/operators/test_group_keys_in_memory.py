"""Of float keys that are equal one stands for all: the one that Spark shows."""

import math

import pyarrow as pa
from tests.operators.random_rows import since_epoch
from tests.operators.slots_in_memory import Slots

import whimbrel as wb
from whimbrel.runtime.operators.keyed_aggregate import KeyedAggregate
from whimbrel.runtime.operators.sessions import SessionAggregate
from whimbrel.runtime.operators.windows import WindowedAggregate, WindowShape

SCHEMA = pa.schema([("k", pa.float64()), ("f", pa.float32()), ("at", pa.timestamp("us", "UTC"))])
N = {"n": wb.count()}


def rows(*keys, second=3):
    return pa.Table.from_pylist([{"k": k, "f": f, "at": since_epoch(second)} for k, f in keys], schema=SCHEMA)


def shown(found):
    return sorted((repr(row["k"]), repr(row["f"]), row["n"]) for row in found)


def test_minus_zero_and_zero_are_one_key_of_every_group():
    keys = [(-0.0, -0.0), (0.0, 0.0), (-0.0, 0.0), (math.nan, -0.0), (-math.nan, 0.0), (None, -0.0)]
    expected = [("0.0", "0.0", 3), ("None", "0.0", 1), ("nan", "0.0", 2)]
    assert shown(Slots(KeyedAggregate("a", ["k", "f"], N, SCHEMA)).run(rows(*keys))) == expected
    window = WindowShape(10_000_000, 10_000_000)
    for operator in (
        WindowedAggregate("w", ["k", "f"], "at", window, N, SCHEMA, "5 seconds", True),
        SessionAggregate("s", ["k", "f"], "at", 5_000_000, N, SCHEMA, "5 seconds"),
    ):
        slots = Slots(operator)
        slots.run(rows(*keys))
        slots.run(rows((1.0, 1.0), second=100))
        assert shown(slots.run(rows())) == expected
