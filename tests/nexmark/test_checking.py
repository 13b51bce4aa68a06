"""The check of a query against both references: its events, its verdict, its differences."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.nexmark.scenarios import foreign, generated, unwrapped, write_foreign

from whimbrel.cli.nexmark import _events_to_check
from whimbrel.nexmark.arrivals import read_events
from whimbrel.nexmark.checking import Journey, check, difference
from whimbrel.nexmark.settings import Settings


def test_what_is_checked_are_ones_own_events_or_generated_ones(tmp_path):
    own = foreign(100, seed=8)
    assert unwrapped(_events_to_check(write_foreign(tmp_path, own), None, None, None)) == own
    assert unwrapped(_events_to_check(None, 500, None, None)) == generated(500)
    assert _events_to_check(None, None, 3, 100).num_rows == 100_000


def test_a_difference_counts_rows_as_multisets_and_shows_some():
    one, other = pa.table({"a": [1, 1, 2]}), pa.table({"a": [1, 2, 2]})
    found = difference(one, other)
    assert (found.surplus, found.missing, found.is_none) == (1, 1, False)
    assert found.shown == ("+ {'a': 1}", "- {'a': 2}")
    assert difference(one, one).is_none


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_users_events_are_answered_as_by_both_references_on_the_way_through_three_migrations(spark, tmp_path):
    rows = read_events(write_foreign(tmp_path / "in", foreign(600, seed=5)))
    journey = Journey(rescale={1: 4, 5: 3}, shuffle={3: 11}, epochs=7, bins=16)
    settings = Settings(window_ms=3_000, slide_ms=1_000, ignore_reserve=True)
    answer = check(spark, journey.of("q4", settings), rows, tmp_path / "out")
    assert answer["equal"] and not answer["differences"] and answer["rows_in"] == 600
    assert answer["moves"] > 16 and answer["repeated_ids"] == 0
