"""TTL of aggregates and folds, wherever their bins are."""

from hypothesis import strategies as st
from tests.operators import random_rows
from tests.operators.drawing import MOVES, ROW, cases, epochs_of, rows_of, table_of
from tests.operators.slots_in_memory import Slots

import whimbrel as wb
from whimbrel.runtime.operators.expiry import Expiry
from whimbrel.runtime.operators.keyed_aggregate import KeyedAggregate
from whimbrel.runtime.operators.state_machine import StateMachine

SCHEMA = random_rows.SCHEMA.remove(3)
EPOCHS = epochs_of(rows_of(ROW, 4), MOVES, st.integers(1, 60))
TTL = 50


def plain_counts(epochs):
    """(key, count) of every changed key and epoch, and how many keys are left."""
    counts, touched, now, out = {}, {}, 0, []
    for rows, _, passed in epochs:
        now += passed
        counts = {key: n for key, n in counts.items() if touched[key] + TTL > now}
        for key in dict.fromkeys(row[0] for row in rows):
            counts[key] = counts.get(key, 0) + sum(row[0] == key for row in rows)
            touched[key] = now
            out.append((key, counts[key]))
    return out, len(counts)


def run(operator, epochs):
    slots, now = Slots(operator), 0
    for rows, moves, passed in epochs:
        now += passed
        slots.run(table_of(rows), moves=moves, now_ms=now)
    assert slots.migrations >= 4
    return sorted(((row["k"], row["n"]) for row in slots.emitted), key=repr), slots.rows_of("keys")


@cases(EPOCHS)
def test_an_aggregate_forgets_keys_without_rows(epochs):
    found, left = run(KeyedAggregate("a", ["k"], {"n": wb.count()}, SCHEMA, Expiry(TTL)), epochs + [([], {}, 1)])
    expected, kept = plain_counts(epochs + [([], {}, 1)])
    assert (found, left) == (sorted(expected, key=repr), kept)


@cases(EPOCHS)
def test_a_fold_forgets_keys_without_rows(epochs):
    state = random_rows.SCHEMA.field("v").with_name("n")
    keys, state = SCHEMA.empty_table().select(["k"]).schema, SCHEMA.empty_table().select([]).schema.append(state)
    operator = StateMachine(
        "f", keys, state, SCHEMA.names, lambda old, rows: (old.n if old else 0) + len(rows), Expiry(TTL)
    )
    found, left = run(operator, epochs + [([], {}, 1)])
    expected, kept = plain_counts(epochs + [([], {}, 1)])
    assert (found, left) == (sorted(expected, key=repr), kept)
