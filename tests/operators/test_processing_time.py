"""Timers of processing time: records come back once their time has come, and an idle stream has epochs to see it."""

import pyarrow as pa
from hypothesis import strategies as st
from tests.operators.drawing import MOVES, ROW, cases, epochs_of, rows_of, table_of
from tests.operators.slots_in_memory import Slots

from whimbrel.control import lease
from whimbrel.control.settings import JobSettings, fix_settings
from whimbrel.control.stores import open_store
from whimbrel.runtime.heartbeat import _Reader
from whimbrel.runtime.operator import Side
from whimbrel.runtime.operators.per_bin import PerBin
from whimbrel.runtime.place import JobPlace

KEYS = pa.schema([("k", pa.string())])


def remind(context):
    if context.rows.num_rows:
        keys = context.rows.select(["k"])
        context.schedule([context.now_ms + 1_000] * keys.num_rows, keys)
    return context.due.select(["k"]) if context.due.num_rows else None


def test_a_scheduled_record_comes_back_once_wherever_its_bin_has_gone():
    slots = Slots(PerBin("p", [Side(("k",), ("k",))], remind, KEYS, {}, KEYS))
    slots.run(table_of([("a", 0, 1), ("b", 0, 2), ("c", 0, 3)]), now_ms=10_000, moves=dict.fromkeys(range(8), 2))
    assert slots.run(table_of([]), now_ms=10_500, moves=dict.fromkeys(range(8), 1)) == []
    assert slots.run(table_of([]), now_ms=11_000) == []
    assert sorted(row["k"] for row in slots.run(table_of([]), now_ms=11_001)) == ["a", "b", "c"]
    assert slots.run(table_of([]), now_ms=20_000) == []


@cases(epochs_of(rows_of(ROW, 4), MOVES, st.integers(0, 900)))
def test_every_record_comes_back_in_the_first_epoch_after_its_time(epochs):
    slots = Slots(PerBin("p", [Side(("k",), ("k",))], remind, KEYS, {}, KEYS))
    now, waiting, quiet = 0, [], [([], None, 1_000), ([], None, 1)]
    for rows, moves, passed in epochs + quiet:
        now += passed
        due = [key for at, key in waiting if at < now]
        waiting = [(at, key) for at, key in waiting if at >= now] + [(now + 1_000, row[0]) for row in rows]
        found = [row["k"] for row in slots.run(table_of(rows), moves=moves, now_ms=now)]
        assert sorted(found, key=repr) == sorted(due, key=repr)
    assert not waiting and slots.migrations >= 4


def test_an_idle_stream_has_an_epoch_per_tick_where_timers_wait(tmp_path):
    directory, store = str(tmp_path), open_store(str(tmp_path))
    settings = fix_settings(store, JobSettings("timers", 8, 2, 2), directory)
    held = lease.acquire(store, directory, lease.Holder.myself(), lambda: 0)
    sealed = JobPlace(directory, settings, held.generation).seal(0, "query")
    for later, tick_ms, wanted in ((999, 1_000, False), (1_000, 1_000, True), (10**9, 0, False)):
        reader = _Reader(directory, False, tick_ms, lambda later=later: sealed.sealed_at_ms + later)
        assert (reader.latestOffset({"beats": 0})["beats"] > 0) == wanted
    held.release()
