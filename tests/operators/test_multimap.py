"""Many rows per key: taking the oldest away costs what is taken, not what stays."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel.runtime.operators.multimap import Multimap, multimap_specs
from whimbrel.state.hashing import hash_keys
from whimbrel.state.ledger import SlotLedger
from whimbrel.testing import MemoryBackend

BITS = 3
KEYS, VALUES = pa.schema([("k", pa.int64())]), pa.schema([("v", pa.int64())])


def opened():
    specs = multimap_specs("m", KEYS, VALUES)
    return Multimap(SimpleNamespace(ledger=SlotLedger.open(MemoryBackend(), specs, BITS), bits=BITS), "m", KEYS)


def add(rows, keys, values):
    batch = pa.record_batch([pa.array(keys, pa.int64())], schema=KEYS)
    rows.add(hash_keys(batch.columns), batch, pa.record_batch([pa.array(values, pa.int64())], schema=VALUES))


def found(rows, key):
    _, places = rows.lookup(hash_keys([pa.array([key], pa.int64())]))
    return places, rows.rows.read(places, ["v"]).column(0).to_pylist()


STEP = st.tuples(st.lists(st.integers(0, 3), max_size=5), st.integers(0, 7))


@settings(max_examples=settings.default.max_examples // 4)
@given(st.lists(STEP, max_size=8))
def test_the_rows_of_a_key_are_those_added_and_not_removed_in_their_order(steps):
    rows, held, number = opened(), defaultdict(list), 0
    for keys, chosen in steps:
        add(rows, keys, range(number, number + len(keys)))
        for key in keys:
            held[key].append(number)
            number += 1
        gone = [found(rows, key)[0][chosen % 3 :: 1 + chosen % 4].copy() for key in range(4)]
        lost = {v for places in gone for v in rows.rows.read(places, ["v"]).column(0).to_pylist()}
        rows.remove(np.concatenate(gone))
        held = defaultdict(list, {key: [v for v in values if v not in lost] for key, values in held.items()})
        for key in range(4):
            assert found(rows, key)[1] == held[key]


def test_removing_the_oldest_rows_does_not_look_at_those_that_stay(monkeypatch):
    rows = opened()
    add(rows, [7] * 20_000, range(20_000))
    looked_at, find = [], rows.rows.find
    monkeypatch.setattr(rows.rows, "find", lambda hashes: looked_at.append(len(hashes)) or find(hashes))
    places, _ = found(rows, 7)
    looked_at.clear()
    for part in range(100):
        rows.remove(places[10 * part : 10 * part + 10])
    assert sum(looked_at) <= 4 * 1_000
    assert found(rows, 7)[1] == list(range(1_000, 20_000))
