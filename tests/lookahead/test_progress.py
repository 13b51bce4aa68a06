"""What a projection says of its course: how much is done, and how long the rest will take."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.lookahead.conftest import small_instance

from whimbrel.cli.lookahead_progress import Sweeps, rounds_told
from whimbrel.planning.projection_iteration import start
from whimbrel.planning.projection_problem import Problem


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def told():
    return []


def test_the_share_done_grows_to_one_and_the_time_left_falls_to_nothing(told):
    clock, progress = Clock(), start(Problem.of(small_instance()))
    course = Sweeps(lambda *words: told.append(words), 1.0, 1e-9, 0, clock)
    for sweep, bound in enumerate((1e-1, 1e-3, 1e-5, 1e-10), start=1):
        clock.now += 10
        course.swept(replace(progress, sweeps=sweep, bound=bound, residual=bound))
    shares = [share for share, _, _ in told]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert "about 10 seconds left" in told[2][2] and "about 0 seconds left" in told[3][2]


def test_tasks_move_the_bar_between_sweeps(told):
    clock, progress = Clock(), start(Problem.of(small_instance()))
    course = Sweeps(lambda *words: told.append(words), 1.0, 1e-9, 0, clock)
    course.working(0, 4)
    clock.now = 20
    course.working(2, 4)
    course.swept(replace(progress, sweeps=1, bound=0.1, residual=0.1))
    course.working(1, 4)
    shares = [share for share, _, _ in told]
    assert shares[0] == 0 and shares == sorted(shares) and shares[-1] < 1
    assert told[1][2] == "sweep 1: 2 of 4 tasks done" and "left" in told[1][1]


def test_a_resumed_run_counts_from_where_it_went_on(told):
    clock, progress = Clock(), start(Problem.of(small_instance()))
    course = Sweeps(lambda *words: told.append(words), 1.0, 1e-9, 5, clock)
    clock.now = 30
    course.swept(replace(progress, sweeps=6, bound=1e-5, residual=1e-5))
    assert "sweep 6" in told[0][2] and "about 3.5 minutes left" in told[0][2]


def test_rounds_say_how_long_the_others_will_take(told):
    clock = Clock()
    tell = rounds_told(lambda *words: told.append(words), 10, clock)
    clock.now = 4
    tell(2, 0.5)
    assert told == [(0.2, "round 2 of 10, about 16 seconds left", told[0][2])]
    assert "answers moved by 5.00e-01 of the state; about 16 seconds left" in told[0][2]
