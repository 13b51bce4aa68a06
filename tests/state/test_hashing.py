"""The key hash: stable, equal for equal values, and as documented (an independent reading in plain integers)."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel.model import BadInput
from whimbrel.state.hashing import KeyHashes, hash_keys, rehash

ALL = (1 << 64) - 1
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


def mix(word):
    word = (word + 0x9E3779B97F4A7C15) & ALL
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & ALL
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & ALL
    return word ^ (word >> 31)


def unmix(word):
    def unshift(value, by):
        result = value
        for _ in range(64 // by + 1):
            result = value ^ (result >> by)
        return result

    word = (unshift(word, 31) * pow(0x94D049BB133111EB, -1, 1 << 64)) & ALL
    word = (unshift(word, 27) * pow(0xBF58476D1CE4E5B9, -1, 1 << 64)) & ALL
    return (unshift(word, 30) - 0x9E3779B97F4A7C15) & ALL


def one(column):
    hashes = hash_keys([column])
    return [(int(a), int(b)) for a, b in zip(hashes.first, hashes.second)]


@given(st.lists(INT64, max_size=20))
def test_the_first_half_of_one_integer_is_the_documented_bijection(values):
    hashes = hash_keys([pa.array(values, pa.int64())])
    assert [int(h) for h in hashes.first] == [mix(v & ALL) for v in values]
    assert [unmix(int(h)) for h in hashes.first] == [v & ALL for v in values]


def test_a_null_is_not_any_integer():
    first, second = one(pa.array([None], pa.int64()))[0]
    twin = unmix(first)
    twin = twin - (1 << 64) if twin >= 1 << 63 else twin
    assert one(pa.array([twin]))[0][0] == first
    assert one(pa.array([twin]))[0][1] != second


def test_golden_values_never_change():
    columns = {
        "int": pa.array([1], pa.int32()),
        "text": pa.array(["whimbrel, a shorebird"]),
        "double": pa.array([1.5]),
        "decimal": pa.array([Decimal("12.34")], pa.decimal128(38, 18)),
        "null": pa.nulls(1),
        "list": pa.array([[1, 2, 3]]),
        "struct": pa.array([{"a": 1, "b": "x"}]),
        "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        "date": pa.array([dt.date(2026, 1, 2)]),
        "timestamp": pa.array([dt.datetime(2026, 1, 2, 3, 4, 5, 678901)], pa.timestamp("us", tz="UTC")),
        "local timestamp": pa.array([dt.datetime(2026, 1, 2, 3, 4, 5, 678901)], pa.timestamp("us")),
        "interval": pa.array([dt.timedelta(seconds=1)], pa.duration("us")),
        "boolean": pa.array([True]),
        "empty text": pa.array([""]),
        "structs": pa.array([[{"a": 1, "b": None}]], pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
    }
    found = {name: tuple(f"{half:016x}" for half in one(column)[0]) for name, column in columns.items()}
    assert found == EXPECTED
    assert [f"{int(h[0]):016x}" for h in halves(hash_keys([pa.array(["a"]), pa.array([1])]))] == TWO_COLUMNS


def halves(hashes):
    return hashes.first, hashes.second


TWO_COLUMNS = ["e4dfbb9248097b2d", "ead3d917b943ec99"]

EXPECTED = {
    "int": ("910a2dec89025cc1", "eff403784106123e"),
    "text": ("3467e701602b0a6a", "66c158c833622091"),
    "double": ("d6dab18e1392608a", "cf693db7173eb48f"),
    "decimal": ("b01aebae7987791d", "cf6465c90efc6212"),
    "null": ("6a09e667f3bcc908", "bb67ae8584caa73b"),
    "list": ("d67aa63c5a1fecf6", "e6a573acc81e0518"),
    "struct": ("40b1a104ce02ee81", "439240a469119c4e"),
    "map": ("0e564da2e71f377c", "f0b41e878929a7a2"),
    "date": ("91eed16d69cefb4e", "d88acb1c603dc1c0"),
    "timestamp": ("67ec4a27755f00ce", "edcab5fae507a204"),
    "local timestamp": ("67ec4a27755f00ce", "edcab5fae507a204"),
    "interval": ("680d1cce9cff45e7", "b29a206f31fc0338"),
    "boolean": ("910a2dec89025cc1", "eff403784106123e"),
    "empty text": ("906b5dfa4b6de80a", "460908c466aa4557"),
    "structs": ("ad5058b19da3a5e7", "9c5847358a05a70e"),
}


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_integers_hash_by_value_whatever_their_width(kind):
    assert one(pa.array([5, None, -7], kind)) == one(pa.array([5, None, -7], pa.int64()))


@given(st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=20))
def test_strings_hash_by_bytes_whatever_their_layout(values):
    plain = one(pa.array(values, pa.string()))
    assert one(pa.array(values, pa.large_string())) == plain
    assert one(pa.array(values, pa.string_view())) == plain
    assert one(pa.array(values, pa.string()).dictionary_encode()) == plain
    assert one(pa.array([None if v is None else v.encode() for v in values], pa.binary())) == plain
    assert one(pa.chunked_array([pa.array(values[:3], pa.string()), pa.array(values[3:], pa.string())])) == plain
    assert one(pa.array([*values, "x"], pa.string()).slice(1)) == one(pa.array([*values, "x"][1:], pa.string()))


def test_zeros_are_one_value_and_nans_are_one_value():
    quiet, other = np.array([0x7FF8000000000000, 0xFFF8000000000123], np.uint64).view(np.float64)
    zero, minus, a, b = one(pa.array(np.array([0.0, -0.0, quiet, other])))
    assert zero == minus and a == b != zero
    assert one(pa.array([1.5], pa.float32())) == one(pa.array([1.5], pa.float64()))


@settings(max_examples=200)
@given(st.lists(st.one_of(st.none(), st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=3)), max_size=12))
def test_lists_hash_equally_exactly_when_they_are_equal(values):
    hashes = one(pa.array(values, pa.list_(pa.string())))
    for i, left in enumerate(values):
        for j, right in enumerate(values):
            assert (hashes[i] == hashes[j]) == (left == right)


def test_a_null_struct_is_not_a_struct_of_nulls():
    kind = pa.struct([("a", pa.int64()), ("b", pa.string())])
    a, b, c = one(pa.array([None, {"a": None, "b": None}, {"a": 1, "b": None}], kind))
    assert len({a, b, c}) == 3


def test_maps_hash_without_regard_to_order():
    a, b, c = one(
        pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", 2), ("b", 1)]], pa.map_(pa.string(), pa.int64()))
    )
    assert a == b != c


def test_the_order_of_columns_matters():
    left, right = pa.array([1, 2]), pa.array([2, 1])
    forward, backward = hash_keys([left, right]), hash_keys([right, left])
    assert int(forward.first[0]) != int(forward.first[1])
    assert int(forward.first[0]) == int(backward.first[1])


@given(st.integers(0, 16), st.lists(INT64, min_size=1, max_size=20))
def test_a_rehash_stays_in_the_bin_of_its_key(bits, keys):
    hashes = hash_keys([pa.array(keys, pa.int64())])
    windows = pa.array(range(len(keys)), pa.int64())
    joined = rehash(hashes, [windows], bits)
    assert joined.bins(bits).tolist() == hashes.bins(bits).tolist()
    assert len({(int(a), int(b)) for a, b in zip(joined.first, joined.second)}) == len(keys)


def test_bins_spread_evenly():
    hashes = hash_keys([pa.array(np.arange(100_000))])
    counts = np.bincount(hashes.bins(6), minlength=64)
    assert counts.min() > 1300 and counts.max() < 1850
    texts = hash_keys([pa.array([f"user-{i}" for i in range(100_000)])])
    counts = np.bincount(texts.bins(6), minlength=64)
    assert counts.min() > 1300 and counts.max() < 1850


def test_take_and_concat_keep_pairs_together():
    hashes = hash_keys([pa.array([1, 2, 3])])
    part = KeyHashes.concat([hashes.take(np.array([2])), hashes.take(np.array([True, False, False]))])
    assert part.first.tolist() == [int(hashes.first[2]), int(hashes.first[0])]


def test_no_columns_and_unhashable_types_are_refused():
    with pytest.raises(BadInput, match="at least one column"):
        hash_keys([])
    with pytest.raises(BadInput, match="has no hash"):
        hash_keys([pa.array([Decimal("1")], pa.decimal256(50, 0))])
