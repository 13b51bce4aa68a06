"""Joins under random rows and random moves, against all pairs."""

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from tests.operators import random_rows
from tests.operators.drawing import MOVES, ROW, cases, epochs_of, rows_of, seconds, table_of
from tests.operators.slots_in_memory import Slots

from whimbrel.runtime.operators.enrichment import Enrichment
from whimbrel.runtime.operators.stream_join import JoinInput, StreamJoin, Within

LEFT = random_rows.SCHEMA.remove(3)
RIGHT = pa.schema([("k", pa.string()), ("then", LEFT.field("at").type), ("w", pa.int64())])
SECOND = 1_000_000
DELAYS = (5, 8)
SIDE = rows_of(ROW, 4)
EPOCHS = epochs_of(SIDE, SIDE, MOVES, most=6)
END = [([("end", 500, 0)], [("end", 500, 0)], {}), ([], [], {}), ([], [], {})]


def plain_join(epochs, how, within):
    """All pairs of rows that were not late, and the outer rows that had none; times in seconds."""
    held, watermark, before, newest = ([], []), 0, 0, [0, 0]
    for rows in epochs:
        for side in (0, 1):
            for row in rows[side]:
                if within is None or (row[1] is not None and row[1] > before):
                    held[side].append(row)
                newest[side] = max(newest[side], row[1] or 0)
        before, watermark = watermark, max(watermark, min(max(0, n - d) for n, d in zip(newest, DELAYS, strict=True)))
    pairs = [
        (i, j)
        for i, left in enumerate(held[0])
        for j, right in enumerate(held[1])
        if left[0] is not None
        and left[0] == right[0]
        and (within is None or within[0] <= right[1] - left[1] <= within[1])
    ]
    out = [(held[0][i][0], *held[0][i][1:], *held[1][j][1:]) for i, j in pairs]
    if how in ("left", "full"):
        out += [(*row, None, None) for i, row in enumerate(held[0]) if i not in {a for a, _ in pairs}]
    if how in ("right", "full"):
        out += [(row[0], None, None, *row[1:]) for j, row in enumerate(held[1]) if j not in {b for _, b in pairs}]
    return out


def run(operator, epochs):
    slots = Slots(operator)
    for left, right, moves in epochs:
        slots.run(table_of(left), table_of(right, ("k", "then", "w")), moves=moves)
    assert slots.migrations >= 4
    return slots, [(r["k"], seconds(r["at"]), r["v"], seconds(r["then"]), r["w"]) for r in slots.emitted]


@cases(EPOCHS)
def test_an_unbounded_inner_join_gives_every_pair_once(epochs):
    operator = StreamJoin("j", JoinInput(("k",), LEFT), JoinInput(("k",), RIGHT), "inner", None)
    _, found = run(operator, epochs)
    assert sorted(found, key=repr) == sorted(plain_join(epochs, "inner", None), key=repr)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@cases(EPOCHS, st.sampled_from([(-4, 6), (0, 10), (2, 3)]))
def test_a_bounded_join_gives_every_pair_once_and_forgets(how, epochs, within):
    inputs = JoinInput(("k",), LEFT, "at", "5 seconds"), JoinInput(("k",), RIGHT, "then", "8 seconds")
    operator = StreamJoin("j", *inputs, how, Within(within[0] * SECOND, within[1] * SECOND))
    slots, found = run(operator, epochs + END)
    expected = plain_join(epochs + END[:1], how, within)
    last = ("end", 500, 0)
    alone = [(*last, None, None), ("end", None, None, 500, 0)]
    assert sorted((r for r in found if r not in alone), key=repr) == sorted(
        (r for r in expected if r not in alone), key=repr
    )
    assert slots.rows_of("left.rows") <= 1 and slots.rows_of("right.keys") <= 1


@cases(EPOCHS)
def test_enrichment_gives_each_row_the_newest_value_of_its_key(epochs):
    operator = Enrichment("e", LEFT, RIGHT, ["k"], ["k"], "left")
    values, expected = {}, []
    for left, right, _ in epochs:
        values.update({row[0]: row[1:] for row in right})
        expected += [
            (*row, *(values.get(row[0], (None, None)) if row[0] is not None else (None, None))) for row in left
        ]
    _, found = run(operator, epochs)
    assert sorted(found, key=repr) == sorted(expected, key=repr)
