"""Sessions under random rows and random moves, against sessions merged one row at a time."""

from tests.operators import random_rows
from tests.operators.drawing import EPOCHS, QUIET, cases, seconds, table_of
from tests.operators.slots_in_memory import Slots

import whimbrel as wb
from whimbrel.runtime.operators.sessions import SessionAggregate

GAP, DELAY = 6, 5


def plain_sessions(epochs):
    """Final sessions as (key, start, end, values), and how many rows were late."""
    state, final, late, watermark, before, newest = [], [], 0, 0, 0, 0
    for rows in epochs:
        for key, at, value in rows:
            newest = max(newest, at or 0)
            if at is None:
                continue
            if at + GAP <= before:
                late += 1
                continue
            near = [s for s in state if s[0] == key and s[1] <= at + GAP and at <= s[2]]
            state = [s for s in state if s not in near]
            start, end = min([at, *(s[1] for s in near)]), max([at + GAP, *(s[2] for s in near)])
            state.append((key, start, end, [v for s in near for v in s[3]] + [value]))
        final += [s for s in state if s[2] <= watermark]
        state = [s for s in state if s[2] > watermark]
        before, watermark = watermark, max(0, newest - DELAY)
    return final, late


@cases(EPOCHS)
def test_every_session_closes_once_with_all_rows_that_were_not_late(epochs):
    aggregates = {"n": wb.count(), "s": wb.sum_of("v")}
    schema = random_rows.SCHEMA.remove(3)
    slots = Slots(SessionAggregate("s", ["k"], "at", GAP * 1_000_000, aggregates, schema, "5 seconds"))
    for rows, moves in epochs + QUIET:
        slots.run(table_of(rows), moves=moves)
    final, late = plain_sessions([rows for rows, _ in epochs + QUIET])
    expected = [(k, a, b, len(v), sum(x for x in v if x is not None)) for k, a, b, v in final]
    found = [
        (row["k"], seconds(row["window_start"]), seconds(row["window_end"]), row["n"], row["s"] or 0)
        for row in slots.emitted
    ]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert slots.late == late and slots.migrations >= 4
