"""What a slot keeps: the best choice of few bins, nearly the best of many, and never more than the bound says."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from whimbrel.planning.knapsack import CORE_BINS, best_keep


def _worth(chosen: list[int], work: list[int], state: list[int], limit: int) -> int:
    assert chosen == sorted(set(chosen)) and sum(work[b] for b in chosen) <= limit
    return sum(state[b] for b in chosen)


@pytest.mark.parametrize("unit", [1, 10**30])
def test_few_bins_are_chosen_as_well_as_by_trying_all(unit: int) -> None:
    random = np.random.default_rng(5)
    for _ in range(300):
        bins, top = int(random.integers(1, 9)), int(random.choice([3, 50]))
        work = [unit * int(v) for v in random.integers(0, top, bins)]
        state = [unit * int(v) for v in random.integers(0, top, bins)]
        limit = sum(work) * int(random.integers(0, 4)) // 4
        tried = (dict(enumerate(taken)) for taken in product((0, 1), repeat=bins))
        fitting = (taken for taken in tried if sum(work[b] for b in taken if taken[b]) <= limit)
        best = max(sum(state[b] for b in taken if taken[b]) for taken in fitting)
        chosen, bound = best_keep(work, state, limit)
        assert _worth(chosen, work, state, limit) == best == bound, (work, state, limit)


def test_many_bins_of_small_whole_numbers_are_chosen_exactly() -> None:
    random = np.random.default_rng(7)
    work, state = (random.integers(1, 20, 3 * CORE_BINS).tolist() for _ in range(2))
    limit = sum(work) // 3
    best = [0] * (limit + 1)
    for w, s in zip(work, state, strict=True):
        best = [max(kept, best[room - w] + s) if room >= w else kept for room, kept in enumerate(best)]
    chosen, bound = best_keep(work, state, limit)
    assert _worth(chosen, work, state, limit) == best[limit] == bound


def test_many_bins_leave_almost_nothing_of_the_bound() -> None:
    random = np.random.default_rng(6)
    for bins in (CORE_BINS + 1, 200, 600):
        work, state = (random.integers(1, 10**6, bins).tolist() for _ in range(2))
        chosen, bound = best_keep(work, state, sum(work) // 2)
        kept = _worth(chosen, work, state, sum(work) // 2)
        assert bound * Fraction(995, 1000) <= kept <= bound
