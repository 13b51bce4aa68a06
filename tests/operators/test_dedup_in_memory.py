"""Dedup under random rows and random moves, against a set of what was seen."""

from tests.operators import random_rows
from tests.operators.drawing import EPOCHS, QUIET, cases, seconds, table_of
from tests.operators.slots_in_memory import Slots

from whimbrel.runtime.operators.dedup import Dedup

DELAY = 5
SCHEMA = random_rows.SCHEMA.remove(3)


def plain_dedup(epochs, key_of, expiry_of):
    """The rows that pass, epoch by epoch, and the late ones; ``expiry_of`` None remembers for good."""
    seen, passed, late, watermark, before, newest = {}, [], 0, 0, 0, 0
    for rows in epochs:
        for row in rows:
            if expiry_of is not None and row[1] is not None and row[1] <= before:
                late += 1
            elif key_of(row) not in seen:
                seen[key_of(row)] = None if expiry_of is None else expiry_of(row)
                passed.append(row)
        seen = {key: expiry for key, expiry in seen.items() if expiry is None or expiry > watermark}
        newest = max([newest, *(at for _, at, _ in rows if at is not None)])
        before, watermark = watermark, max(0, newest - DELAY)
    return passed, late


def run(operator, epochs):
    slots = Slots(operator)
    for rows, moves in epochs + QUIET:
        slots.run(table_of(rows), moves=moves)
    assert slots.migrations >= 4
    return slots, sorted(((row["k"], seconds(row["at"]), row["v"]) for row in slots.emitted), key=repr)


@cases(EPOCHS)
def test_without_a_watermark_every_key_passes_once(epochs):
    _, found = run(Dedup("d", ["k"], SCHEMA), epochs)
    assert found == sorted(plain_dedup([rows for rows, _ in epochs], lambda row: row[0], None)[0], key=repr)


@cases(EPOCHS)
def test_with_event_time_among_the_keys_they_are_forgotten_at_their_time(epochs):
    slots, found = run(Dedup("d", ["k", "at"], SCHEMA, "at", "5 seconds"), epochs)
    passed, late = plain_dedup([rows for rows, _ in epochs] + [[], []], lambda row: row[:2], lambda row: row[1])
    assert found == sorted(passed, key=repr)
    assert slots.rows_of("seen") <= 2 * len({row[0] for row in passed}) * DELAY + len(passed)
    assert slots.late == late


@cases(EPOCHS)
def test_within_the_watermark_a_key_passes_again_after_the_delay(epochs):
    slots, found = run(Dedup("d", ["k"], SCHEMA, "at", "5 seconds"), epochs)
    passed, late = plain_dedup(
        [rows for rows, _ in epochs] + [[], []], lambda row: row[0], lambda row: (row[1] or 0) + DELAY
    )
    assert found == sorted(passed, key=repr)
    assert slots.late == late
