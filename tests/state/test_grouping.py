"""Grouping and the sums over groups, against plain Python."""

import math
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.state.grouping import (
    add_exactly,
    count_by_group,
    group_rows,
    max_by_group,
    min_by_group,
    sum_by_group,
)
from whimbrel.state.hashing import KeyHashes, hash_keys

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(-(1 << 62), 1 << 62), st.booleans()), max_size=60)


@given(st.lists(st.one_of(st.none(), st.text(max_size=2)), max_size=80))
def test_groups_are_numbered_by_first_appearance(keys):
    group, first = group_rows(hash_keys([pa.array(keys, pa.string())]))
    seen = list(dict.fromkeys(keys))
    assert group.tolist() == [seen.index(key) for key in keys]
    assert first.tolist() == [keys.index(key) for key in seen]


def test_rows_that_share_half_of_their_hash_are_not_one_group():
    same = np.zeros(3, np.uint64)
    group, first = group_rows(KeyHashes(same, np.array([1, 2, 1], np.uint64)))
    assert group.tolist() == [0, 1, 0] and first.tolist() == [0, 1]


@given(ROWS)
def test_sums_over_groups_are_those_of_plain_python(rows):
    keys = [key for key, _, _ in rows]
    group, first = group_rows(hash_keys([pa.array(keys, pa.int64())]))
    values, valid = np.array([v for _, v, _ in rows], np.int64), np.array([ok for *_, ok in rows], np.bool_)
    groups = [[v for k, v, ok in rows if ok and k == keys[f]] for f in first]
    assert count_by_group(group, len(first), valid).tolist() == [len(g) for g in groups]
    sums = sum_by_group(values, group, len(first), valid).tolist()
    assert [s & ((1 << 64) - 1) for s in sums] == [sum(g) & ((1 << 64) - 1) for g in groups]
    least, most = min_by_group(values, group, len(first), valid), max_by_group(values, group, len(first), valid)
    for number, members in enumerate(groups):
        if members:
            assert (least[number], most[number]) == (min(members), max(members))


@given(ROWS, ROWS)
def test_exact_sums_are_right_or_refused(rows, more):
    group = np.zeros(len(rows), np.int64)
    values, valid = np.array([v for _, v, _ in rows], np.int64), np.array([ok for *_, ok in rows], np.bool_)
    partial = list(accumulate(v for _, v, ok in rows if ok))
    if all(fits(part) for part in partial):
        assert sum_by_group(values, group, 1, valid, exact=True).tolist() == [partial[-1] if partial else 0]
    else:
        with pytest.raises(OverflowError, match="exceeds 64 bits"):
            sum_by_group(values, group, 1, valid, exact=True)
    left, right = (
        np.array([4 * v if abs(v) < 1 << 61 else v for _, v, _ in part[:3]], np.int64) for part in (rows, more)
    )
    left, right = left[: right.size], right[: left.size]
    sums = [a + b for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    if all(map(fits, sums)):
        assert add_exactly(left, right, np.ones(left.size, np.bool_)).tolist() == sums
    else:
        with pytest.raises(OverflowError):
            add_exactly(left, right, np.ones(left.size, np.bool_))
    assert add_exactly(left, right, np.zeros(left.size, np.bool_)).size == left.size


def fits(number):
    return -(1 << 63) <= number < 1 << 63


def test_not_a_number_is_greater_than_every_number():
    values, group = np.array([math.nan, 1.0, -math.inf, math.nan]), np.array([0, 0, 0, 1])
    assert min_by_group(values, group, 2).tolist()[0] == -math.inf
    assert math.isnan(min_by_group(values, group, 2)[1])
    assert all(math.isnan(v) for v in max_by_group(values, group, 2))


def test_floats_are_summed_in_row_order():
    values, group = np.array([1e16, 1.0, -1e16, 2.5]), np.array([0, 0, 0, 1])
    assert sum_by_group(values, group, 2).tolist() == [(1e16 + 1.0) - 1e16, 2.5]
