"""Transition matrices: moves counted by hand, rows that sum to one, rules from load to slots."""

from __future__ import annotations

import numpy as np
import pytest

from whimbrel.model import BadInput
from whimbrel.planning.mtm_log import read_counts, read_slot_counts
from whimbrel.planning.mtm_matrix import estimate
from whimbrel.planning.mtm_slots import NORMALISATIONS, fit_rule


def test_moves_are_counted_and_rows_sum_to_one():
    found = estimate([8, 10, 10, 12, 8, 10, 8])
    assert found.states == (8, 10, 12)
    assert found.counts == ((0, 2, 0), (1, 0, 1), (1, 0, 0))
    assert found.matrix == ((0.0, 1.0, 0.0), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0))
    assert found.empty_rows == ()


def test_self_moves_count_only_when_asked_for():
    assert estimate([8, 8, 8, 10, 8], self_moves=True).counts == ((2, 1), (1, 0))
    assert estimate([8, 8, 8, 10, 8]).counts == ((0, 1), (1, 0))


def test_a_slot_count_that_was_never_left_backs_off_to_the_moves_that_led_to_it():
    found = estimate([8, 10, 8, 12, 8, 10, 16])
    assert found.empty_rows == (16,)
    assert found.matrix[found.states.index(16)] == (0.0, 1.0, 0.0, 0.0)


def test_a_slot_count_that_was_never_seen_goes_anywhere_else():
    found = estimate([8, 10, 8], states=[8, 10, 12])
    assert found.empty_rows == (12,)
    assert found.matrix[2] == (0.5, 0.5, 0.0)


def test_a_single_slot_count_stays_where_it_is():
    assert estimate([4, 4, 4]).matrix == ((1.0,),)


@pytest.mark.parametrize("seed", range(20))
def test_every_row_is_a_distribution_whatever_the_history(seed):
    rng = np.random.default_rng(seed)
    history = rng.integers(1, 7, int(rng.integers(1, 30))).tolist()
    for self_moves in (False, True):
        matrix = np.array(estimate(history, self_moves).matrix)
        assert (matrix >= 0).all()
        assert matrix.sum(axis=1) == pytest.approx(1)


def test_a_drawn_chain_follows_the_matrix():
    found = estimate([1, 2, 1, 2, 3, 1, 2, 1, 3, 2])
    chain = np.array([1, *found.draw(1, 20_000, np.random.default_rng(5))])
    seen = estimate(chain.tolist())
    assert np.abs(np.array(seen.matrix) - np.array(found.matrix)).max() < 0.02


def test_a_chain_starts_from_a_known_slot_count():
    with pytest.raises(BadInput, match="not one of the states"):
        estimate([1, 2]).draw(3, 1, np.random.default_rng(0))


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_more_load_never_needs_fewer_slots_and_the_extremes_are_reached(normalisation):
    counts = np.random.default_rng(3).gamma(2.0, 100.0, 500)
    rule = fit_rule(counts.tolist(), (8, 10, 12, 14, 16), normalisation)
    slots = np.array(rule.slots_for(sorted(counts)))
    assert (np.diff(slots) >= 0).all()
    assert (slots[0], slots[-1]) == (8, 16)


def test_percentiles_give_every_state_as_many_intervals():
    rule = fit_rule(list(range(100)), (1, 2, 4, 8), "percentile")
    assert np.unique(rule.slots_for(list(range(100))), return_counts=True)[1].tolist() == [25, 25, 25, 25]


def test_proportional_slots_round_to_the_nearest_state():
    rule = fit_rule([0, 80], (8, 16), "proportional")
    assert rule.slots_for([0, 39, 41, 80]) == (8, 8, 16, 16)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hour,count\n1,8\n", "has no column 'nodes': it has hour, count"),
        ("nodes\n", "no rows"),
        ("nodes\n8\nten\n", "line 3: nodes is 'ten'"),
        ("nodes\n8.5\n", "whole number"),
        ("nodes\n0\n", "at least 1"),
        ("nodes\n1e23\n", "at most"),
        ("", "has no column"),
    ],
)
def test_a_faulty_log_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_slot_counts(path)


def test_a_log_may_have_other_columns_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("\ufeffhour, nodes ,count\n0,8,1.5\n1,10,2.5\n", encoding="utf-8")
    assert read_slot_counts(path) == (8, 10)
    assert read_counts(path, "count") == (1.5, 2.5)


def test_a_missing_log_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_slot_counts(tmp_path / "none.csv")
