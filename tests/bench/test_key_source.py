"""The keys of the open-loop counter are a function of the row's number."""

from __future__ import annotations

import numpy as np

from whimbrel.bench.key_source import OpenLoopKeys
from whimbrel.bench.memory import sample


def test_the_preload_has_every_key_once_and_the_rest_is_spread():
    feed = OpenLoopKeys(keys=1000, rate=10)
    assert feed.counts(1000).tolist() == [1] * 1000
    later = feed.counts(101_000)
    assert later.sum() == 101_000 and later.max() < 150


def test_counts_are_those_of_the_rows():
    feed = OpenLoopKeys(keys=50, rate=10)
    rows = feed.keys_of(np.arange(777, dtype=np.int64))
    assert np.bincount(rows, minlength=50).tolist() == feed.counts(777).tolist()


def test_rows_of_the_preload_are_due_at_the_start():
    feed = OpenLoopKeys(keys=100, rate=10)
    assert feed.due_ms(np.array([0, 99, 100, 110]), 5_000.0).tolist() == [5_000, 5_000, 5_000, 6_000]


def test_this_process_has_memory():
    found = sample(__import__("os").getpid())
    assert found.python_bytes > 1_000_000 and found.jvm_bytes >= 0
