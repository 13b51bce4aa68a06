"""Windows under random rows and random moves, against windows computed one row at a time."""

from collections import defaultdict

from hypothesis import strategies as st
from tests.operators import random_rows
from tests.operators.drawing import EPOCHS, QUIET, cases, seconds, table_of
from tests.operators.slots_in_memory import Slots

import whimbrel as wb
from whimbrel.runtime.operators.windows import WindowedAggregate, WindowShape

SECOND = 1_000_000


def plain_windows(epochs, length, slide, delay):
    """Final windows and the number of late (row, window) pairs, in seconds."""
    state, final, late, watermark, before, newest = defaultdict(list), {}, 0, 0, 0, 0
    for rows in epochs:
        for key, at, value in rows:
            if at is None:
                continue
            newest = max(newest, at)
            for start in range((at // slide - length // slide - 1) * slide, at + 1, slide):
                if start <= at < start + length:
                    if start + length <= before:
                        late += 1
                    else:
                        state[key, start].append(value)
        for key, start in [place for place in state if place[1] + length <= watermark]:
            assert (key, start) not in final
            final[key, start] = state.pop((key, start))
        before, watermark = watermark, max(0, newest - delay)
    return final, late


@cases(EPOCHS, st.sampled_from([(10, 10), (10, 4), (12, 3)]))
def test_every_window_closes_once_with_all_rows_that_were_not_late(epochs, window):
    length, slide = window
    aggregates = {"n": wb.count(), "s": wb.sum_of("v")}
    shape = WindowShape(length * SECOND, slide * SECOND)
    operator = WindowedAggregate("w", ["k"], "at", shape, aggregates, random_rows.SCHEMA, "5 seconds", True)
    slots = Slots(operator)
    for rows, moves in epochs + QUIET:
        slots.run(table_of(rows), moves=moves)
    final, late = plain_windows([rows for rows, _ in epochs + QUIET], length, slide, 5)
    expected = {
        place: (len(v), sum(x for x in v if x is not None) if any_value(v) else None) for place, v in final.items()
    }
    found = {(row["k"], seconds(row["window_start"])): (row["n"], row["s"]) for row in slots.emitted}
    assert found == expected and len(slots.emitted) == len(expected)
    assert slots.late == late and slots.migrations >= 4


def any_value(values):
    return any(value is not None for value in values)


@cases(EPOCHS, st.sampled_from([(10, 10), (10, 4)]))
def test_update_tells_of_every_window_that_changed_and_of_no_other(epochs, window):
    length, slide = window
    shape = WindowShape(length * SECOND, slide * SECOND)
    operator = WindowedAggregate("w", ["k"], "at", shape, {"n": wb.count()}, random_rows.SCHEMA, "5 seconds", False)
    slots, counts, watermark, before, newest = Slots(operator), defaultdict(int), 0, 0, 0
    for rows, moves in epochs + QUIET:
        changed = {}
        for key, at, _ in rows:
            newest = max(newest, at or 0)
            for start in range(-2 * length // slide * slide, 61, slide) if at is not None else ():
                if start <= at < start + length and start + length > before:
                    counts[key, start] += 1
                    changed[key, start] = counts[key, start]
        found = [((r["k"], seconds(r["window_start"])), r["n"]) for r in slots.run(table_of(rows), moves=moves)]
        assert sorted(found, key=repr) == sorted(changed.items(), key=repr)
        for place in [place for place in counts if place[1] + length <= watermark]:
            del counts[place]
        before, watermark = watermark, max(0, newest - 5)
    assert slots.rows_of("windows") == len(counts)
