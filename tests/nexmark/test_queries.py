"""The migratable queries answer as the references, while every bin changes its slot at random in every epoch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nexmark.comparing import assert_same, from_arrow, multiset
from tests.nexmark.in_memory import answer
from tests.nexmark.scenarios import foreign, generated, tables

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


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("query", MIGRATABLE)
def test_the_answer_is_the_references_whatever_the_epochs_and_the_slots(query, stream):
    events = STREAMS[stream]
    options = {"window_ms": 300, "slide_ms": 200} if stream == "generated" else {"window_ms": 3_000, "slide_ms": 1_000}
    wanted = from_arrow(duckdb_answer(query, *tables(events).values(), **options, changes=True))
    assert wanted
    for seed, pieces in ((1, 1), (2, 9)):
        found = answer(query, cut(events, pieces, seed), Settings(**options, delay_ms=LATENESS_MS), seed)
        assert found.column_names == list(changes_of(query))
        assert_same(from_arrow(found), wanted, f"{query} with seed {seed}")


@pytest.mark.parametrize("query", ["q4", "q6"])
def test_the_reserve_can_be_ignored(query):
    events = STREAMS["foreign"]
    found = answer(query, cut(events, 5, 3), Settings(ignore_reserve=True, delay_ms=LATENESS_MS))
    wanted = duckdb_answer(query, *tables(events).values(), ignore_reserve=True, changes=True)
    assert_same(from_arrow(found), from_arrow(wanted), query)


@pytest.mark.parametrize("query", TIMED)
@pytest.mark.parametrize("delay_ms", [0, 500])
def test_late_events_change_nothing_exactly_where_the_reference_says_so(query, delay_ms):
    events = STREAMS["foreign"]
    epochs = cut(events, 20, 5)
    found = answer(query, epochs, Settings(window_ms=3_000, slide_ms=1_000, delay_ms=delay_ms))
    wanted = plain_answer(query, epochs, window_ms=3_000, slide_ms=1_000, delay_ms=delay_ms, changes=True)
    assert_same(from_arrow(found), multiset(wanted), query)
    patient = plain_answer(query, epochs, window_ms=3_000, slide_ms=1_000, changes=True)
    assert multiset(wanted) != multiset(patient), "nothing was late: the test shows nothing"
