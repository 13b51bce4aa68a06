"""Pacing: every step is a non-empty part of the remaining moves, in the shape that its name promises."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.migration import NAMES, EpochFact, Pacing, next_step
from whimbrel.migration.budget import next_size
from whimbrel.model.errors import BadInput
from whimbrel.model.move import Move

moves_lists = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60).map(
    lambda pairs: [Move(b, s, t) for b, (s, t) in enumerate(pairs) if s != t]
)


@pytest.mark.parametrize("name", NAMES)
@given(remaining=moves_lists)
def test_a_step_is_a_non_empty_set_of_remaining_moves(name, remaining):
    pacing = Pacing.of(name, p99_ms=500 if name == "budget" else None)
    step, _ = next_step(pacing, remaining, 0.0, [])
    assert set(step) <= set(remaining)
    assert len(step) == len(set(step))
    assert bool(step) == bool(remaining)


@given(remaining=moves_lists, per_slot=st.integers(1, 4))
def test_progressive_bounds_the_arrivals_of_every_slot(remaining, per_slot):
    step, _ = next_step(Pacing.of("progressive", size=per_slot), remaining, 0.0, [])
    arrivals = Counter(m.target for m in step)
    assert all(n <= per_slot for n in arrivals.values())
    wanted = Counter(m.target for m in remaining)
    assert all(arrivals[t] == min(per_slot, n) for t, n in wanted.items())


@given(remaining=moves_lists)
def test_optimized_ends_within_its_bound_of_rounds(remaining):
    left, rounds = list(remaining), 0
    degree = max([0, *Counter(m.source for m in left).values(), *Counter(m.target for m in left).values()])
    while left:
        step, _ = next_step(Pacing.of("optimized"), left, 0.0, [])
        assert len({m.source for m in step}) == len(step) == len({m.target for m in step})
        left = [m for m in left if m not in set(step)]
        rounds += 1
    assert rounds <= 2 * degree


@pytest.mark.parametrize(
    ("name", "settings", "lesson"),
    [
        ("sideways", {}, "choose one of"),
        ("batched", {"size": 0}, "never ends"),
        ("budget", {}, "needs its budget"),
        ("fluid", {"gap_epochs": -1}, "0 or more"),
    ],
)
def test_senseless_settings_are_refused_with_a_lesson(name, settings, lesson):
    with pytest.raises(BadInput, match=lesson):
        Pacing.of(name, **settings)


def test_budget_halves_after_an_overrun_and_at_most_doubles_with_room():
    steady = [EpochFact(e, 400, 0) for e in range(4)]
    assert next_size(16, 1000, [*steady, EpochFact(5, 1500, 16)]) == 8
    assert next_size(16, 1000, [*steady, EpochFact(5, 410, 16)]) == 32
    assert 1 <= next_size(1, 300, [*steady, EpochFact(5, 410, 1)]) <= 2


def test_one_slow_epoch_with_a_single_bin_does_not_hold_the_budget_back_for_long():
    rng, size, left, facts = np.random.default_rng(7), 4.0, 103, [EpochFact(e, 800, 0) for e in range(8)]
    facts.append(EpochFact(8, 1_100, 1))
    steps = 0
    while left > 0:
        moving = min(left, int(size))
        facts = [*facts, EpochFact(len(facts), 800 + rng.exponential(30) + 2.5 * moving, moving)][-12:]
        left, steps = left - moving, steps + 1
        size = next_size(size, 1_065, facts)
    assert steps <= 12
