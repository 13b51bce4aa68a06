"""Sequences against exhaustion, the papers' instance, and the search against the exact path."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from tests.planning.brute_force import cheapest_sequence

from whimbrel.model import Assignment, BadInput, Load
from whimbrel.planning import sequence_exact
from whimbrel.planning.interval_matching import shared_state
from whimbrel.planning.sequence import plan_sequence
from whimbrel.planning.sequence_bound import most_covered
from whimbrel.planning.sequence_exact import partition_count, partitions
from whimbrel.planning.ssm_terrain import reach_of
from whimbrel.planning.validator import faults_of_sequence


def _equal(bins: int, intervals: list[tuple[int, int]]) -> tuple[Load, Assignment]:
    return Load((1,) * bins, (1,) * bins), Assignment.from_intervals(intervals, bins)


def test_the_instance_of_the_papers_table_has_optimum_six() -> None:
    answer = plan_sequence(*_equal(20, [(0, 13), (13, 20)]), [(3, 0.4), (4, 0.4)])
    assert answer.exact and answer.cost == 6


def test_looking_ahead_pays_where_every_greedy_choice_costs_more() -> None:
    answer = plan_sequence(*_equal(13, [(0, 4), (4, 9), (9, 13)]), [(2, 0.4), (3, 0.4)])
    assert answer.exact and answer.cost == 6 and answer.greedy_cost >= 7


def test_exact_sequences_cost_what_exhaustion_says() -> None:
    random = np.random.default_rng(4)
    for _ in range(40):
        bins = int(random.integers(3, 7))
        load = Load(tuple(random.integers(0, 9, bins).tolist()), tuple(random.integers(0, 9, bins).tolist()))
        current = Assignment.even(bins, int(random.integers(1, 4)))
        targets = [(int(random.integers(1, 4)), float(random.choice([0.3, 0.6, 1.0]))) for _ in range(2)]
        answer, cost = plan_sequence(load, current, targets), cheapest_sequence(load, current, targets)
        assert answer.feasible == (cost is not None)
        if cost is not None:
            assert answer.exact and answer.cost == cost <= answer.greedy_cost
            assert not faults_of_sequence(answer, load, current, targets)


def test_the_search_for_large_questions_comes_within_one_percent_on_small_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random, exact_cost, found_cost, gaps = np.random.default_rng(2), 0.0, 0.0, []
    for _ in range(25):
        bins = int(random.integers(10, 16))
        load = Load(tuple(random.integers(1, 20, bins).tolist()), tuple(random.integers(1, 20, bins).tolist()))
        current = Assignment.even(bins, int(random.integers(2, 5)))
        targets = [(int(random.integers(2, 5)), 0.4) for _ in range(int(random.integers(2, 5)))]
        exactly = plan_sequence(load, current, targets)
        with monkeypatch.context() as patch:
            patch.setattr(sequence_exact, "PAIRS_MAX", -1)
            found = plan_sequence(load, current, targets)
        if exactly.feasible:
            assert not found.exact and found.lower_bound <= exactly.cost <= found.cost <= found.greedy_cost
            assert not faults_of_sequence(found, load, current, targets)
            exact_cost, found_cost = exact_cost + exactly.cost, found_cost + found.cost
            gaps.append(found.gap)
            assert exactly.gap == 0
    assert found_cost <= 1.01 * exact_cost
    assert np.isfinite(gaps).sum() > 10


def test_a_large_sequence_is_never_dearer_than_step_by_step_planning() -> None:
    random = np.random.default_rng(6)
    load = Load(tuple(random.integers(1, 999, 256).tolist()), tuple(random.integers(1, 999, 256).tolist()))
    start, targets = Assignment.even(256, 8), [(10, 0.2), (8, 0.2), (12, 0.2)]
    answer = plan_sequence(load, start, targets, rounds=2)
    assert not answer.exact and answer.lower_bound <= answer.cost <= answer.greedy_cost
    assert not faults_of_sequence(answer, load, start, targets)


def test_an_infeasible_step_is_named_with_the_tau_that_works() -> None:
    answer = plan_sequence(*_equal(5, [(0, 5)]), [(2, 0.5), (4, 0.0)])
    assert not answer.feasible and answer.reason == "step 1: no 4 intervals keep the limit; the smallest tau is 0.6"


def test_a_sequence_needs_targets() -> None:
    with pytest.raises(BadInput, match="at least one target"):
        plan_sequence(*_equal(5, [(0, 5)]), [])


def test_partitions_are_counted_without_listing_them() -> None:
    reach = reach_of(np.array([3, 1, 4, 1, 5, 9, 2, 6]), 12)
    assert len(partitions(reach, 5)) == partition_count(reach, 5) > 10


def test_shared_state_counts_each_old_and_new_interval_once() -> None:
    prefix = np.arange(11, dtype=np.int64)
    assert shared_state(prefix, np.array([0, 5, 10]), np.array([0, 1, 9, 10])) == 4 + 1


def test_the_bound_between_steps_is_what_trying_all_pieces_gives() -> None:
    random = np.random.default_rng(9)
    for _ in range(100):
        bins, pieces = int(random.integers(1, 7)), int(random.integers(1, 4))
        work, state = random.integers(0, 9, bins), random.integers(0, 9, bins)
        reach = reach_of(work, int(random.integers(0, 20)) + int(work.max()))
        cuts = [cut for size in range(2 * pieces + 1) for cut in combinations_with_replacement(range(bins + 1), size)]
        covered = max(
            sum(int(state[low:high].sum()) for low, high in zip(cut[::2], cut[1::2], strict=True))
            for cut in cuts
            if len(cut) % 2 == 0 and all(reach[high] <= low for low, high in zip(cut[::2], cut[1::2], strict=True))
        )
        prefix = np.concatenate([[0], np.cumsum(state)]).astype(np.int64)
        assert most_covered(prefix, reach, pieces) == covered


@pytest.mark.slow
def test_ten_steps_of_four_thousand_bins_have_a_gap_that_says_something() -> None:
    random = np.random.default_rng(3)
    load = Load(tuple(random.integers(50, 150, 4096).tolist()), tuple(random.integers(50, 150, 4096).tolist()))
    start = Assignment.even(4096, 32)
    targets = [(int(slots), 0.2) for slots in (40, 32, 48, 40, 56, 64, 48, 40, 32, 36)]
    answer = plan_sequence(load, start, targets, rounds=1)
    assert not faults_of_sequence(answer, load, start, targets)
    assert not answer.exact and answer.gap < 1.5
