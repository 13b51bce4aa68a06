"""The migration that the timelines report."""

from __future__ import annotations

from whimbrel.bench.timeline_run import imbalanced
from whimbrel.model import Assignment


def test_a_quarter_of_all_bins_leaves_half_of_the_slots():
    balanced = Assignment(tuple(b % 4 for b in range(64)))
    skewed = imbalanced(balanced, 4)
    moves = balanced.moves_to(skewed)
    assert len(moves) == 16
    assert {(move.source, move.target) for move in moves} == {(0, 2), (1, 3)}
    assert [len(skewed.bins_of(slot)) for slot in range(4)] == [8, 8, 24, 24]
