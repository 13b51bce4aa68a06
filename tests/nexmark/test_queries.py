"""The migratable queries answer as the references, while every bin changes its slot at random in every epoch."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from tests.nexmark.comparing import assert_same, from_arrow, multiset
from tests.nexmark.in_memory import answer, answers
from tests.nexmark.scenarios import BASE, foreign, generated, tables

from whimbrel.nexmark.events.schema import KINDS
from whimbrel.nexmark.queries import MIGRATABLE, TIMED
from whimbrel.nexmark.reference import changes_of, duckdb_answer, plain_answer
from whimbrel.nexmark.settings import Settings

STREAMS = {"generated": generated(6_000), "foreign": foreign(1_500, seed=6)}
LATENESS_MS = 20_000


def cut(events, pieces, seed):
    """The events in epochs of random lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    edges = [0, *sorted(rng.integers(0, len(events), pieces - 1).tolist()), len(events)]
    return [events[low:high] for low, high in zip(edges, edges[1:])]


CUTS = [pytest.param(9, id="9"), *(pytest.param(pieces, marks=pytest.mark.slow) for pieces in (1, 40))]


@pytest.mark.parametrize("pieces", CUTS)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("query", MIGRATABLE)
def test_the_answer_is_the_references_whatever_the_epochs_and_the_slots(query, stream, pieces):
    events = STREAMS[stream]
    options = {"window_ms": 300, "slide_ms": 200} if stream == "generated" else {"window_ms": 3_000, "slide_ms": 1_000}
    wanted = from_arrow(duckdb_answer(query, *tables(events).values(), **options, changes=True))
    assert wanted
    found = answer(query, cut(events, pieces, pieces), Settings(**options, delay_ms=LATENESS_MS), pieces)
    assert found.column_names == list(changes_of(query))
    assert_same(from_arrow(found), wanted, f"{query} in {pieces} epochs")


@pytest.mark.parametrize("query", ["q4", "q6"])
def test_the_reserve_can_be_ignored(query):
    events = STREAMS["foreign"]
    found = answer(query, cut(events, 5, 3), Settings(ignore_reserve=True, delay_ms=LATENESS_MS))
    wanted = duckdb_answer(query, *tables(events).values(), ignore_reserve=True, changes=True)
    assert_same(from_arrow(found), from_arrow(wanted), query)


@pytest.mark.parametrize("query", TIMED)
@pytest.mark.parametrize("delay_ms", [0, pytest.param(500, marks=pytest.mark.slow)])
def test_late_events_change_nothing_exactly_where_the_reference_says_so(query, delay_ms):
    events = STREAMS["foreign"]
    epochs = cut(events, 20, 5)
    found = answer(query, epochs, Settings(window_ms=3_000, slide_ms=1_000, delay_ms=delay_ms))
    wanted = plain_answer(query, epochs, window_ms=3_000, slide_ms=1_000, delay_ms=delay_ms, changes=True)
    assert_same(from_arrow(found), multiset(wanted), query)
    patient = plain_answer(query, epochs, window_ms=3_000, slide_ms=1_000, changes=True)
    assert multiset(wanted) != multiset(patient), "nothing was late: the test shows nothing"


@pytest.mark.parametrize(("query", "row"), [("q4", (10, 60.0, 1)), ("q6", (7, 60.0, 1)), ("q9", None)])
def test_an_auction_closes_in_event_time_with_no_bid_arriving(query, row):
    """Its post-dated record comes due because another auction opens; its bin has changed slots in every epoch."""
    first = auction(1, opened=0, expires=10)
    opened, bids = [("auction", first)], [("bid", bid(1, 50, at=3)), ("bid", bid(1, 60, at=4))]
    later = [
        [("auction", auction(number, opened=seconds, expires=99))] for number, seconds in ((2, 8), (3, 10), (4, 11))
    ]
    for seed in range(4):
        found = answers(query, [opened, bids, *later, []], Settings(), seed)
        given_out = [number for number, rows in enumerate(found) if rows.num_rows]
        assert given_out == [4], "the first epoch whose watermark has reached 10 seconds"
        (closed,) = found[4].to_pylist()
        assert tuple(closed.values()) == row if row else (closed["id"], closed["price"]) == (1, 60)


def auction(number, opened, expires):
    """An auction of seller 7 in category 10; times in seconds."""
    times = {"dateTime": BASE + timedelta(seconds=opened), "expires": BASE + timedelta(seconds=expires)}
    return {**dict.fromkeys(KINDS["auction"].names), "id": number, "seller": 7, "category": 10, "reserve": 40, **times}


def bid(number, price, at):
    """A bid on an auction."""
    return {"auction": number, "bidder": 5, "price": price, "dateTime": BASE + timedelta(seconds=at), "extra": None}


@pytest.mark.parametrize("first", ["auction", "person"])
def test_an_incremental_join_answers_as_soon_as_both_sides_are_there_however_long_that_takes(first):
    person = {**dict.fromkeys(KINDS["person"].names), "id": 7, "name": "Ada", "city": "Bend", "state": "OR"}
    one, other = ("auction", auction(1, 0, 10)), ("person", {**person, "dateTime": BASE + timedelta(days=400)})
    sides = [one, other] if first == "auction" else [other, one]
    found = answers("q3", [[sides[0]], [], [sides[1]], [("auction", auction(2, 0, 10))]], Settings(), seed=1)
    assert [rows.to_pylist() for rows in found] == [
        [], [], [{"name": "Ada", "city": "Bend", "state": "OR", "auction": 1}],
        [{"name": "Ada", "city": "Bend", "state": "OR", "auction": 2}],
    ]  # fmt: skip
