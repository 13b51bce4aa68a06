"""The planners to compare with do what their publications say."""

from __future__ import annotations

import itertools

import numpy as np

from whimbrel.model import Assignment, Load
from whimbrel.planning import plan
from whimbrel.planning.consistent_hashing import average_over_rings, ring_assignment
from whimbrel.planning.stable_hash import stable_hash

LOAD = Load(work=tuple(1 + b % 9 for b in range(64)), state=tuple(1 + b % 5 for b in range(64)))


def test_the_even_split_is_matched_as_well_as_any_permutation() -> None:
    load = Load(work=(1,) * 10, state=tuple(range(1, 11)))
    current = Assignment((0, 0, 0, 1, 1, 1, 1, 2, 2, 2))
    answer = plan("even", load, current, 4, 1.0)
    runs = Assignment.even(10, 4).owner
    best = min(
        sum(load.state[b] for b in range(10) if slots[runs[b]] != current.owner[b])
        for slots in itertools.permutations(range(4))
    )
    assert answer.cost == best


def test_a_ring_that_grows_moves_bins_only_to_the_new_slot_and_back_again_when_it_shrinks() -> None:
    small, large = ring_assignment(512, range(6), seed=3), ring_assignment(512, range(7), seed=3)
    assert {move.target for move in small.moves_to(large)} == {6}
    assert {move.source for move in large.moves_to(small)} == {6}


def test_rings_move_about_one_share_and_leave_the_work_unbalanced() -> None:
    average = average_over_rings(LOAD, 8, 10, seeds=50)
    assert 0.1 < average.cost / sum(LOAD.state) < 0.3
    assert 1.2 < average.max_over_mean < average.worst_max_over_mean


def test_the_stable_hash_never_changes_and_spreads_evenly() -> None:
    hashes = stable_hash(np.arange(10_000, dtype=np.uint64))
    assert hashes[0] == 0xE220A8397B1DCDAF
    counts = np.bincount((hashes >> np.uint64(60)).astype(int), minlength=16)
    assert counts.min() > 500 and counts.max() < 750


def test_redist_balances_and_a_heavier_weight_moves_less() -> None:
    current = Assignment.even(64, 8)
    light, heavy = (plan("redist", LOAD, current, 10, 0.2, weight=weight) for weight in (0.3, 5.0))
    assert heavy.cost < light.cost
    assert light.max_load <= 1.35 * sum(LOAD.work) / 10


def test_scan_places_the_heaviest_bins_first_and_balances() -> None:
    answer = plan("scan", LOAD, Assignment.even(64, 8), 10, 0.2)
    assert answer.feasible and answer.max_load <= 1.35 * sum(LOAD.work) / 10
