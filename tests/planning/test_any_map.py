"""Bins anywhere: exact for few, between its bound and SSM for many."""

from __future__ import annotations

import numpy as np
import pytest
from tests.planning.brute_force import most_state_kept_anywhere, slots_and_limits
from tests.planning.questions import questions

from whimbrel.model import Assignment, Load
from whimbrel.model.limit import exact
from whimbrel.planning import plan
from whimbrel.planning.validator import faults_of


def _compare(seed: int, count: int) -> None:
    for asked in questions(seed, count, bins_max=6, contiguous=False):
        limits = slots_and_limits(asked.load, asked.current, asked.slots, asked.tau, asked.give_up, asked.capacities)
        if len(limits) ** asked.load.bins > 5000:
            continue
        kept = most_state_kept_anywhere(asked.load, asked.current, asked.slots, limits)
        options = {"give_up": asked.give_up, "capacities": asked.capacities}
        answer = plan("any-map", asked.load, asked.current, asked.slots, asked.tau, **options)
        assert not faults_of(answer, asked.load, **options), (asked, answer)
        assert answer.feasible == (kept is not None), asked
        if kept is not None:
            assert exact(answer.gain) == pytest.approx(kept, rel=1e-12), (asked, answer)


def test_few_bins_are_placed_as_well_as_by_exhaustion() -> None:
    _compare(seed=1, count=500)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 205))
def test_few_bins_are_placed_as_well_as_by_exhaustion_five_thousand_times(seed: int) -> None:
    _compare(seed, count=1000)


def _skewed(seed: int, bins: int) -> Load:
    random = np.random.default_rng(seed)
    keys = random.permutation(np.arange(1, 20_001) ** -0.8)
    bin_of_key = random.integers(0, bins, keys.size)
    work = np.bincount(bin_of_key, keys, bins) * 1e5
    state = np.bincount(bin_of_key, np.sqrt(keys) * 100 + 8, bins)
    return Load(tuple(int(v) for v in work), tuple(int(v) for v in state))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tau", [0.1, 0.2])
def test_scaling_out_a_skewed_load_stays_within_two_points_of_the_bound(seed: int, tau: float) -> None:
    load = _skewed(seed, bins=256)
    start = plan("ssm", load, Assignment.even(256, 8), 8, 0.2)
    assert start.target is not None
    answer = plan("any-map", load, start.target, 10, tau)
    contiguous = plan("ssm", load, start.target, 10, tau)
    assert not faults_of(answer, load)
    assert answer.cost - answer.lower_bound <= 0.02 * sum(load.state)
    assert not contiguous.feasible or answer.cost < contiguous.cost


def test_anywhere_never_moves_more_than_contiguous_and_never_fails_where_cuts_exist() -> None:
    random = np.random.default_rng(12)
    for _ in range(60):
        bins = int(random.integers(26, 60))
        load = Load(tuple(random.integers(1, 60, bins).tolist()), tuple(random.integers(0, 60, bins).tolist()))
        slots, start = int(random.integers(2, 9)), Assignment.even(bins, int(random.integers(1, 9)))
        contiguous = plan("ssm", load, start, slots, 0.1)
        answer = plan("any-map", load, start, slots, 0.1)
        assert not contiguous.feasible or (answer.feasible and answer.cost <= contiguous.cost)
        if not answer.feasible:
            assert plan("any-map", load, start, slots, answer.smallest_tau).feasible
        scattered = Assignment(tuple(int(s) for s in random.integers(0, 5, bins)))
        refused = plan("any-map", load, scattered, slots, 0.0)
        if not refused.feasible:
            assert plan("any-map", load, scattered, slots, refused.smallest_tau).feasible
