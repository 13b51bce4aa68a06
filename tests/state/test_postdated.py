"""Post-dated records against a sorted list, through commits and moves."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.state.doubles import KEY, VALUE

from whimbrel.model import BadInput
from whimbrel.state.hashing import hash_keys
from whimbrel.state.ledger import SlotLedger
from whimbrel.state.postdated import PostDated, postdated_spec
from whimbrel.state.table import KeyedTable
from whimbrel.testing import MemoryBackend

BITS = 2
RECORD = pa.schema([("who", pa.string()), ("what", pa.list_(pa.int64()))])
SPEC = postdated_spec("later", RECORD)


def schedule(postdated, entries):
    """Schedules (who, time) pairs; what is recorded is the pair's own number."""
    who = pa.array([who for who, _, _ in entries], pa.string())
    what = pa.array([[number] for _, _, number in entries], pa.list_(pa.int64()))
    times = np.array([time for _, time, _ in entries], np.int64)
    postdated.schedule(hash_keys([who]), times, pa.record_batch([who, what], RECORD))


def bin_of(who):
    return int(hash_keys([pa.array([who])]).bins(BITS)[0])


def taken(batch):
    columns = batch.to_pydict()
    return [(t, w, n[0]) for t, w, n in zip(columns["_time"], columns["who"], columns["what"])]


STEPS = st.lists(
    st.tuples(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 20)), max_size=15), st.integers(0, 22)),
    max_size=8,
)


@settings(max_examples=80, deadline=None)
@given(STEPS)
def test_records_leave_in_the_order_of_time_and_of_being_set(steps):
    postdated, waiting, number = PostDated(KeyedTable(SPEC.key, SPEC.value, BITS)), [], 0
    for pairs, bound in steps:
        entries = [(who, time, number + i) for i, (who, time) in enumerate(pairs)]
        number += len(pairs)
        schedule(postdated, entries)
        waiting += entries
        due = sorted((time, bin_of(who), n, who) for who, time, n in waiting if time < bound)
        waiting = [entry for entry in waiting if entry[1] >= bound]
        assert taken(postdated.due(bound)) == [(time, who, n) for time, _, n, who in due]
        assert postdated.count == len(waiting)
        assert postdated.next_time() == min((time for _, time, _ in waiting), default=None)


def test_records_and_their_order_move_with_the_bin():
    source, target = MemoryBackend(), MemoryBackend()
    ledger = SlotLedger.open(source, [SPEC], BITS)
    ledger.adopt(range(4), 0)
    schedule(PostDated(ledger.table("later")), [("a", 5, 0), ("b", 5, 1), ("a", 5, 2)])
    data = ledger.export(range(4))
    ledger.commit(0)
    ledger = SlotLedger.open(target, [SPEC], BITS)
    ledger.install(data, range(4), 1, "transfer")
    schedule(PostDated(ledger.table("later")), [("a", 5, 3), ("b", 4, 4)])
    ledger.commit(1)
    postdated = PostDated(SlotLedger.open(target, [SPEC], BITS).table("later"))
    expected = sorted(
        [(5, bin_of(w), n, w) for w, n in [("a", 0), ("b", 1), ("a", 2), ("a", 3)]] + [(4, bin_of("b"), 4, "b")]
    )
    assert taken(postdated.due(100)) == [(time, who, n) for time, _, n, who in expected]


def test_nothing_due_is_found_out_without_looking_at_the_records():
    postdated = PostDated(KeyedTable(SPEC.key, SPEC.value, BITS))
    schedule(postdated, [(f"key {n}", 1000 + n, n) for n in range(5000)])
    assert postdated.due(1000).num_rows == 0
    before = postdated.table.rows.copy()
    postdated.table.rows[:] = 0
    assert postdated.due(1000).num_rows == 0
    postdated.table.rows[:] = before
    assert postdated.due(1002).num_rows == 2


def test_times_may_be_arrow_timestamps():
    postdated = PostDated(KeyedTable(SPEC.key, SPEC.value, BITS))
    who = pa.array(["a"])
    batch = pa.record_batch([who, pa.array([[1]])], RECORD)
    postdated.schedule(hash_keys([who]), pa.array([7], pa.timestamp("us", "UTC")), batch)
    assert taken(postdated.due(8)) == [(7, "a", 1)]


def test_mistakes_are_refused():
    with pytest.raises(BadInput, match="postdated_spec"):
        PostDated(KeyedTable(KEY, VALUE, BITS))
    postdated, who = PostDated(KeyedTable(SPEC.key, SPEC.value, BITS)), pa.array(["a"])
    with pytest.raises(BadInput, match="one of each"):
        postdated.schedule(hash_keys([who]), np.array([1, 2]), pa.record_batch([who, pa.array([[1]])], RECORD))
