"""A schedule's two directions are inverses, whatever its shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.model import BadInput
from whimbrel.nexmark.events import Schedule

SHAPES = {
    "flat": Schedule.flat(1_000),
    "slow": Schedule.flat(0.25),
    "step": Schedule.step(100, 5_000, 4),
    "sine": Schedule.sine(0, 3_000, 10),
    "silences": Schedule(((1, 0), (1, 10), (2, 0), (0.5, 3))),
}


@pytest.mark.parametrize("shape", SHAPES)
@given(elapsed_us=st.integers(0, 10**9))
def test_the_events_due_by_a_time_are_those_whose_time_has_come(shape, elapsed_us):
    schedule = SHAPES[shape]
    due = schedule.due_by(elapsed_us)
    assert schedule.due_us(np.array([due]))[0] > elapsed_us
    assert due == 0 or schedule.due_us(np.array([due - 1]))[0] <= elapsed_us


@pytest.mark.parametrize("shape", SHAPES)
def test_events_are_due_in_their_order(shape):
    assert np.all(np.diff(SHAPES[shape].due_us(np.arange(5_000))) >= 0)


def test_a_flat_schedule_sends_its_rate_every_second():
    assert [SHAPES["flat"].due_by(second * 1_000_000 - 1) for second in range(1, 5)] == [1000, 2000, 3000, 4000]


def test_a_sine_doubles_back_to_where_it_began():
    schedule = Schedule.sine(1_000, 3_000, 10)
    per_second = np.diff([schedule.due_by(second * 1_000_000) for second in range(21)])
    assert per_second[0] < 1_200 and per_second[5] > 2_800
    assert per_second[:10] == pytest.approx(per_second[10:], abs=2)
    assert sum(per_second) == pytest.approx(40_000, abs=5)


def test_a_trace_keeps_its_shape_at_the_wanted_mean(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("hour,count\n0,10\n1,30\n2,20\n")
    schedule = Schedule.trace(path, rate=100, row_s=2)
    assert [schedule.due_by(second * 1_000_000 - 1) for second in (2, 4, 6)] == [100, 400, 600]


def test_traces_that_cannot_be_read_are_refused(tmp_path):
    path = tmp_path / "trace.csv"
    with pytest.raises(BadInput, match="cannot read"):
        Schedule.trace(path, 1, 1)
    path.write_text("hour,count\n0,many\n")
    with pytest.raises(BadInput, match="not a number"):
        Schedule.trace(path, 1, 1)
    with pytest.raises(BadInput, match="no column 'load'"):
        Schedule.trace(path, 1, 1, "load")


def test_a_schedule_that_never_sends_is_refused():
    with pytest.raises(BadInput, match="never sends"):
        Schedule(((5, 0),))
