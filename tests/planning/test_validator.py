"""The validator bites: each thing that can be wrong with a plan is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from whimbrel.model import Assignment, Load, Plan
from whimbrel.planning import plan
from whimbrel.planning.sequence import plan_sequence
from whimbrel.planning.validator import faults_of, faults_of_sequence

LOAD = Load(work=(1, 1, 1, 1), state=(1, 2, 3, 4))


@pytest.fixture
def right() -> Plan:
    return plan("ssm", LOAD, Assignment((0, 0, 0, 0)), 2, 0.0)


def test_a_right_plan_has_no_faults(right: Plan) -> None:
    assert faults_of(right, LOAD, contiguous=True) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"cost": 1}, "of state moves"),
        ({"gain": 1}, "of state stays"),
        ({"lower_bound": 100}, "under its lower bound"),
        ({"max_load": 1}, "busiest slot carries"),
        ({"slots": 1}, "slots are used"),
        ({"feasible": False}, "calls itself infeasible"),
        ({"target": None}, "have no target"),
        ({"target": None, "feasible": False}, "says why"),
        ({"target": None, "feasible": False, "reason": "full", "smallest_tau": 0.0}, "the tau that works"),
        ({"target": Assignment((0, 0, 0))}, "there are 4"),
        ({"target": Assignment((0, 1, 0, 1))}, "not contiguous"),
        ({"target": Assignment((0, 0, 0, 1))}, "its limit is"),
    ],
)
def test_a_wrong_plan_is_found_out(right: Plan, change: dict[str, object], fault: str) -> None:
    assert any(fault in line for line in faults_of(replace(right, **change), LOAD, contiguous=True))  # type: ignore[arg-type]


def test_a_slot_that_had_to_be_given_up_is_found(right: Plan) -> None:
    assert any("given up" in line for line in faults_of(right, LOAD, give_up=[0]))


TARGETS = [(2, 0.0), (1, 0.0)]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"cost": 9}, "the steps cost"),
        ({"lower_bound": 99}, "is not between"),
        ({"steps": ()}, "0 steps for 2 targets"),
        ({"feasible": False}, "has a reason and no steps"),
    ],
)
def test_a_wrong_sequence_is_found_out(change: dict[str, object], fault: str) -> None:
    start = Assignment((0, 0, 0, 0))
    right = plan_sequence(LOAD, start, TARGETS)
    assert faults_of_sequence(right, LOAD, start, TARGETS) == []
    assert any(fault in line for line in faults_of_sequence(replace(right, **change), LOAD, start, TARGETS))  # type: ignore[arg-type]
    crooked = replace(right.steps[0], target=Assignment((0, 1, 0, 1)))
    lines = faults_of_sequence(replace(right, steps=(crooked, right.steps[1])), LOAD, start, TARGETS)
    assert any("step 0" in line and "not contiguous" in line for line in lines)
