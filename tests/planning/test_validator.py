"""The validator bites: each thing that can be wrong with a plan is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from whimbrel.model import Assignment, Load, Plan
from whimbrel.planning import plan
from whimbrel.planning.validator import faults_of

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
        ({"target": Assignment((0, 0, 0))}, "there are 4"),
        ({"target": Assignment((0, 1, 0, 1))}, "not contiguous"),
        ({"target": Assignment((0, 0, 0, 1))}, "its limit is"),
    ],
)
def test_a_wrong_plan_is_found_out(right: Plan, change: dict[str, object], fault: str) -> None:
    assert any(fault in line for line in faults_of(replace(right, **change), LOAD, contiguous=True))  # type: ignore[arg-type]


def test_a_slot_that_had_to_be_given_up_is_found(right: Plan) -> None:
    assert any("given up" in line for line in faults_of(right, LOAD, give_up=[0]))
