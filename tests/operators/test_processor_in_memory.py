"""The adapter under random rows and random moves, against the same processor that keeps its state in a dict."""

import pyarrow as pa
import pytest
from tests.operators import random_rows
from tests.operators.drawing import EPOCHS, cases, table_of
from tests.operators.processors import Everything, Forgetful, Nosy
from tests.operators.slots_in_memory import Slots

from whimbrel.model.errors import BadInput
from whimbrel.runtime.operators.processor import Processor, ProcessorTime

SCHEMA = random_rows.SCHEMA.remove(3)


OUTPUTS = {
    Everything: pa.schema([("k", pa.string()), ("what", pa.string()), ("n", pa.int64())]),
    Forgetful: pa.schema([("k", pa.string()), ("n", pa.int64())]),
}


def adapted(made, **time):
    return Processor("p", ["k"], SCHEMA, made, OUTPUTS[type(made)], ProcessorTime(**time))


def plain_everything(epochs):
    """What ``Everything`` says, from its rules and not from its code; timers by processing time 0."""
    counts, lasts, often, out = {}, {}, {}, []
    for rows in epochs:
        for key in dict.fromkeys(row[0] for row in rows):
            values = [row[2] for row in rows if row[0] == key]
            counts[key] = counts.get(key, 0) + len(values)
            known = [v for v in values if v is not None]
            before = lasts.get(key, [])
            lasts[key] = [*before, *known][-3:]
            for value in known:
                often.setdefault(key, {}).setdefault(value, 0)
                often[key][value] += 1
            total = counts[key]
            if total > 12:
                counts.pop(key)
                often.pop(key, None)
            out.append((key, "count", total))
            out.append((key, "sum", sum(before + known)))
            out.append((key, "top", max(often.get(key, {}).values(), default=0)))
    return out


@cases(EPOCHS)
def test_a_processor_keeps_value_list_and_map_state_in_its_bins(epochs):
    slots = Slots(adapted(Everything(), mode="ProcessingTime"))
    for rows, moves in epochs:
        slots.run(table_of(rows), moves=moves)
    found = [(r["k"], r["what"], r["n"]) for r in slots.emitted if r["what"] != "timer"]
    assert sorted(found, key=repr) == sorted(plain_everything([rows for rows, _ in epochs]), key=repr)


def test_a_timer_calls_back_once_after_its_time_wherever_its_bin_is():
    slots = Slots(adapted(Everything(), mode="EventTime", column="at", delay="5 seconds"))
    slots.run(table_of([("a", 10, 1), ("b", 12, 2)]), moves=dict.fromkeys(range(8), 2))
    slots.run(table_of([]), moves=dict.fromkeys(range(8), 1))
    assert [row for row in slots.emitted if row["what"] == "timer"] == []
    slots.run(table_of([("c", 40, 3)]))
    fired = slots.run(table_of([]), moves=dict.fromkeys(range(8), 0))
    fired += slots.run(table_of([]))
    assert sorted((r["k"], r["n"]) for r in fired if r["what"] == "timer") == [
        ("a", 15_000),
        ("b", 15_000),
        ("c", 22_000),
    ]


def test_ttl_forgets_a_value_and_its_row():
    slots = Slots(adapted(Forgetful(), mode="ProcessingTime"))
    rows = table_of([("a", 0, 1)])
    counts = [slots.run(rows, now_ms=now)[0]["n"] for now in (1_000, 10_000, 19_999, 29_999, 35_000)]
    assert counts == [1, 2, 3, 1, 2]
    slots.run(table_of([]), now_ms=44_999)
    assert slots.rows_of("keys") == 1
    slots.run(table_of([]), now_ms=45_000)
    assert slots.rows_of("keys") == 0


def test_what_no_bin_can_keep_is_refused_by_name():
    with pytest.raises(BadInput, match="deleteIfExists"):
        Processor("p", ["k"], SCHEMA, Nosy(), SCHEMA, ProcessorTime())
    with pytest.raises(BadInput, match="listTimers needs a time mode|registerTimer needs a time mode"):
        Slots(adapted(Everything())).run(table_of([("a", 0, 1)]))
    with pytest.raises(BadInput, match="TTL of state 'count'"):
        adapted(Forgetful())
