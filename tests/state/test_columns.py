"""Every Spark type, nulls everywhere, comes out of a table as it went in."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.state.doubles import KEY, keys_batch

from whimbrel.model import BadInput
from whimbrel.state.backend import TableSpec
from whimbrel.state.hashing import hash_keys
from whimbrel.state.ledger import SlotLedger
from whimbrel.state.table import KeyedTable
from whimbrel.testing import MemoryBackend

NOW = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))
SCALARS = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int16(): st.integers(-(1 << 15), (1 << 15) - 1),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.decimal128(38, 18): st.decimals(-(10**19), 10**19, places=18, allow_nan=False),
    pa.decimal128(5, 2): st.decimals(-999, 999, places=2, allow_nan=False),
    pa.string(): st.text(max_size=20),
    pa.large_string(): st.text(max_size=20),
    pa.binary(): st.binary(max_size=20),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): NOW.map(lambda t: t.replace(tzinfo=dt.timezone.utc)),
    pa.timestamp("us"): NOW,
    pa.duration("us"): st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999)),
    pa.time64("ns"): st.integers(0, 86_399_999_999_999).map(lambda n: n // 1000 * 1000),
    pa.null(): st.none(),
}


def columns(kind, values):
    return st.lists(st.one_of(st.none(), values), max_size=12).map(lambda items: pa.array(items, kind))


def nested(inner):
    kind, values = inner
    maybe = st.one_of(st.none(), values)
    pair = st.fixed_dictionaries({"a": maybe, "b": st.one_of(st.none(), st.text(max_size=3))})
    table = st.lists(st.tuples(st.text(max_size=4), maybe), max_size=3, unique_by=lambda entry: entry[0])
    return st.one_of(
        st.just((pa.list_(kind), st.lists(maybe, max_size=4))),
        st.just((pa.struct([("a", kind), ("b", pa.string())]), pair)),
        st.just((pa.map_(pa.string(), kind), table)),
    )


KINDS = st.recursive(st.sampled_from(list(SCALARS.items())), lambda inner: inner.flatmap(nested), max_leaves=4)


@settings(max_examples=150, deadline=None)
@given(KINDS.flatmap(lambda pair: columns(*pair)), st.integers(0, 3))
def test_every_type_comes_back_as_it_was(column, skipped):
    column = column.slice(min(skipped, len(column)))
    table = KeyedTable(KEY, pa.schema([("v", column.type)]), 2)
    rows, _ = table.ensure(*keys_batch(range(len(column))))
    table.write(rows, pa.record_batch([column], ["v"]))
    read = table.read(rows, ["v"]).column(0)
    read.validate(full=True)
    assert read.type == column.type and read.equals(column)
    order = np.arange(len(rows))[::-2]
    assert table.read(rows[order], ["v"]).column(0).equals(column.take(pa.array(order)))
    table.write(rows[order], pa.record_batch([column.take(pa.array(order[::-1]))], ["v"]))
    expected = column.to_pylist()
    for at, source in zip(order, order[::-1]):
        expected[at] = column[int(source)].as_py()
    assert table.read(rows, ["v"]).column(0).equals(pa.array(expected, column.type))


@settings(max_examples=60, deadline=None)
@given(KINDS.flatmap(lambda pair: columns(*pair)))
def test_every_type_survives_a_commit_and_a_move(column):
    spec = [TableSpec("t", KEY, pa.schema([("v", column.type)]))]
    backend, other = MemoryBackend(), MemoryBackend()
    ledger = SlotLedger.open(backend, spec, 2)
    ledger.adopt(range(4), 0)
    hashes, batch = keys_batch(range(len(column)))
    rows, _ = ledger.table("t").ensure(hashes, batch)
    ledger.table("t").write(rows, pa.record_batch([column], ["v"]))
    data = ledger.export(range(4))
    ledger.commit(0)
    moved = SlotLedger.open(other, spec, 2)
    moved.install(data, range(4), 1, "transfer")
    for reopened in (SlotLedger.open(backend, spec, 2), moved):
        table = reopened.table("t")
        assert table.read(table.find(hashes), ["v"]).column(0).equals(column)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(list(SCALARS.items())).flatmap(lambda pair: columns(*pair)))
def test_every_scalar_type_can_be_a_key(column):
    table = KeyedTable(pa.schema([("k", column.type), ("i", pa.int64())]), pa.schema([("n", pa.int64())]), 2)
    keys = pa.record_batch([column, pa.array(range(len(column)), pa.int64())], ["k", "i"])
    rows, fresh = table.ensure(hash_keys(keys.columns), keys)
    assert fresh.all() and table.read(rows, ["k", "i"]).equals(keys)
    assert (table.find(hash_keys(keys.columns)) == rows).all()


def test_more_columns_than_a_null_word_has_bits():
    value = pa.schema([(f"v{n}", pa.int64()) for n in range(140)])
    table = KeyedTable(KEY, value, 2)
    rows, _ = table.ensure(*keys_batch(range(5)))
    batch = pa.record_batch(
        [pa.array([r * n if (r + n) % 3 else None for r in range(5)], pa.int64()) for n in range(140)], value
    )
    table.write(rows, batch)
    assert table.read(rows, value.names).equals(batch)
    assert sorted(table.scan()) == sorted(rows)


def test_a_null_value_leaves_no_trace_of_what_was_there():
    value = pa.schema([("n", pa.int64())])
    one, two = (KeyedTable(KEY, value, 2) for _ in range(2))
    for table in (one, two):
        rows, _ = table.ensure(*keys_batch([1]))
    one.ints("n")[rows] = 77
    one.set_valid(rows, "n", np.array([False]))
    one.touch(rows)
    assert one.rows[rows].tolist() == two.rows[rows].tolist()


def test_doubles_are_changed_in_place():
    table = KeyedTable(KEY, pa.schema([("x", pa.float64())]), 2)
    rows, _ = table.ensure(*keys_batch([1, 2]))
    table.floats("x")[rows] += np.array([1.5, -2.5])
    table.set_valid(rows, "x", np.array([True, True]))
    table.touch(rows)
    assert table.read(rows, ["x"]).column(0).to_pylist() == [1.5, -2.5]
    assert table.valid(rows, "x").tolist() == [True, True]


def test_a_type_that_state_cannot_hold_is_refused():
    table = KeyedTable(KEY, pa.schema([("v", pa.decimal256(50, 2))]), 2)
    rows, _ = table.ensure(*keys_batch([1]))
    with pytest.raises(BadInput, match="cannot hold"):
        table.write(rows, pa.record_batch([pa.array([Decimal("1.00")], pa.decimal256(50, 2))], ["v"]))
    with pytest.raises(BadInput, match="where decimal256"):
        table.write(rows, pa.record_batch([pa.array([[1]])], ["v"]))
