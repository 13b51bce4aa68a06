"""KeyedTable against a dict, and against damage."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.state.doubles import KEY, VALUE, content, drop, keys_batch, put, values_batch

from whimbrel.model import BadInput
from whimbrel.state.damage import CopyDamaged
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.table import KeyedTable

KEYS = st.integers(0, 400)
VALUES = st.tuples(st.one_of(st.none(), st.integers(-9, 9)), st.one_of(st.none(), st.text(max_size=30)))
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.dictionaries(KEYS, VALUES, max_size=60)),
        st.tuples(st.just("drop"), st.lists(KEYS, max_size=60)),
        st.tuples(st.just("add"), st.lists(KEYS, max_size=60, unique=True)),
        st.tuples(st.just("grow"), st.integers(0, 3)),
    ),
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(ACTIONS, st.sampled_from([0, 1, 4, 9]))
def test_a_table_is_a_dict(actions, bits):
    table, model = KeyedTable(KEY, VALUE, bits), {}
    for action, given_ in actions:
        if action == "put":
            put(table, given_)
            model.update(given_)
        elif action == "drop":
            drop(table, given_)
            for key in given_:
                model.pop(key, None)
        elif action == "add":
            rows = table.find(keys_batch(given_)[0])
            assert [row >= 0 for row in rows] == [key in model for key in given_]
            rows = rows[rows >= 0]
            table.ints("n")[rows] += 1
            table.touch(rows)
            model.update(
                {k: (None if model[k][0] is None else model[k][0] + 1, model[k][1]) for k in given_ if k in model}
            )
        else:
            put(table, {k: (k, "x" * (k % 40)) for k in range(given_ * 1000, given_ * 1000 + 700)})
            model.update({k: (k, "x" * (k % 40)) for k in range(given_ * 1000, given_ * 1000 + 700)})
        assert table.count == len(model)
    assert content(table) == model
    bins = keys_batch(sorted(model))[0].bins(bits)
    assert table.counts().tolist() == np.bincount(bins, minlength=1 << bits).tolist()
    for b in set(bins.tolist()):
        assert set(content(table, [b])) == {k for k, at in zip(sorted(model), bins) if at == b}


def test_keys_that_share_most_of_their_hash_are_kept_apart():
    table = KeyedTable(KEY, VALUE, 4)
    first = np.concatenate(
        [np.full(50, 7 << 40, np.uint64), np.arange(50, dtype=np.uint64) + np.uint64((1 << 60) - 25)]
    )
    hashes = KeyHashes(first, np.arange(100, dtype=np.uint64))
    batch = pa.record_batch([pa.array(np.arange(100))], ["k"])
    rows, fresh = table.ensure(hashes, batch)
    assert fresh.all() and table.find(hashes).tolist() == rows.tolist()
    table.delete(rows[::2])
    assert (table.find(hashes) >= 0).tolist() == [k % 2 == 1 for k in range(100)]
    again, fresh = table.ensure(hashes, batch)
    assert fresh.tolist() == [k % 2 == 0 for k in range(100)]
    assert table.read(table.by_hash(again), ["k"]).column(0).to_pylist() == list(range(100))


def test_a_key_that_comes_twice_is_fresh_once():
    table = KeyedTable(KEY, VALUE, 4)
    hashes, batch = keys_batch([5, 6, 5, 5])
    rows, fresh = table.ensure(hashes, batch)
    assert fresh.tolist() == [True, True, False, False]
    assert rows[0] == rows[2] == rows[3] != rows[1]
    assert table.read(rows).to_pylist()[2] == {"k": 5, "n": None, "s": None}


def test_the_last_of_two_writes_to_a_row_stays():
    table = KeyedTable(KEY, VALUE, 4)
    rows, _ = table.ensure(*keys_batch([1]))
    table.write(np.repeat(rows, 3), values_batch([(1, "a"), (2, "b" * 50), (3, "c" * 20)]))
    assert content(table) == {1: (3, "c" * 20)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers(0, 50))), max_size=80),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_rows_below_a_bound_are_those_of_a_plain_search(puts, bounds):
    table, model = KeyedTable(KEY, VALUE, 3), {}
    for step, (key, n) in enumerate(puts):
        put(table, {key: (n, None)})
        model[key] = n
        if step % 7 == 3:
            drop(table, [key])
            model.pop(key)
        for bound in bounds if step % 11 == 0 else []:
            rows = table.rows_below("n", bound)
            found = table.read(rows, ["k"]).column(0).to_pylist()
            assert sorted(found) == sorted(k for k, v in model.items() if v is not None and v < bound)
            table.delete(rows[: len(rows) // 2])
            for key_ in found[: len(rows) // 2]:
                model.pop(key_)


def test_memory_of_values_that_change_size_stays_bounded():
    table, rng = KeyedTable(KEY, VALUE, 4), np.random.default_rng(3)
    sizes = []
    for turn in range(60):
        put(table, {k: (k, "y" * int(rng.integers(0, 300))) for k in range(300)})
        sizes.append(table.bytes)
    assert sizes[-1] <= 2.5 * sizes[5]


def test_a_range_scan_is_the_slice_of_the_full_scan():
    table = KeyedTable(KEY, VALUE, 3)
    put(table, {k: (k, None) for k in range(3000)})
    everything = table.hashes_of(table.scan()).first
    assert (np.diff(everything.astype(np.float64)) >= 0).all() and len(everything) == 3000
    rng = np.random.default_rng(5)
    for _ in range(40):
        low, high = sorted(int(x) for x in rng.integers(0, 1 << 64, 2, dtype=np.uint64))
        found = table.hashes_of(table.scan_range(low, high)).first.tolist()
        assert found == [h for h in everything.tolist() if low <= h <= high]


@pytest.mark.parametrize("name", ["rows", "index", "heap"])
def test_a_flipped_byte_is_never_believed(name, tmp_path):
    rng, caught = np.random.default_rng(11), 0
    table = KeyedTable(KEY, VALUE, 2, tmp_path)
    pairs = {k: (k * 3, f"value {k} " + "z" * (k % 20)) for k in range(500)}
    put(table, pairs)
    area = table.areas[name].words
    for _ in range(400):
        at, mask = int(rng.integers(0, len(area))), np.int64(1) << np.int64(rng.integers(0, 63))
        area[at] ^= mask
        try:
            assert content(table) == pairs
            assert (table.find(keys_batch(list(pairs))[0]) >= 0).all()
        except CopyDamaged:
            caught += 1
        area[at] ^= mask
    assert content(table) == pairs
    assert caught > 40


@pytest.mark.parametrize("name", ["rows", "index", "heap"])
def test_a_zeroed_stretch_is_never_believed(name, tmp_path):
    table = KeyedTable(KEY, VALUE, 2, tmp_path)
    put(table, {k: (k * 3, f"value {k} longer than a word") for k in range(500)})
    rows, area = table.scan(), table.areas[name].words
    area[64:1024] = 0
    with pytest.raises(CopyDamaged):
        table.find(keys_batch(range(500))[0])
        table.read(rows)
        table.scan()


def test_mistakes_are_refused():
    table = KeyedTable(KEY, VALUE, 4)
    rows, _ = table.ensure(*keys_batch([1]))
    with pytest.raises(BadInput, match="no column 'x'"):
        table.read(rows, ["x"])
    with pytest.raises(BadInput, match="belongs to the key"):
        table.write(rows, pa.record_batch([pa.array([1])], ["k"]))
    with pytest.raises(BadInput, match="whose width varies"):
        table.ints("s")
    with pytest.raises(BadInput, match="not double"):
        table.floats("n")
    with pytest.raises(BadInput, match="one each"):
        table.write(rows, values_batch([(1, "a"), (2, "b")]))
    with pytest.raises(BadInput, match="two columns of one name"):
        KeyedTable(KEY, KEY)
