"""Every exact planner against exhaustion, on questions of every kind. Costs are compared, never partitions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.planning.brute_force import most_state_kept, slots_and_limits
from tests.planning.questions import Question, questions

from whimbrel.model import Plan
from whimbrel.model.limit import exact
from whimbrel.planning import plan, ssm
from whimbrel.planning.validator import faults_of


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    ssm.warm()


def _ask(planner: str, asked: Question, **options: object) -> Plan:
    return plan(
        planner,
        asked.load,
        asked.current,
        asked.slots,
        asked.tau,
        give_up=asked.give_up,
        capacities=asked.capacities,
        **options,
    )


def _check(asked: Question, answer: Plan, kept: Fraction | None) -> None:
    faults = faults_of(answer, asked.load, contiguous=True, give_up=asked.give_up, capacities=asked.capacities)
    assert not faults, (asked, answer, faults)
    assert answer.feasible == (kept is not None), (asked, answer)
    if kept is not None:
        assert exact(answer.gain) == pytest.approx(kept, rel=1e-12), (asked, answer, kept)
        assert answer.cost == answer.lower_bound


def _compare(seed: int, count: int) -> None:
    for asked in questions(seed, count):
        limits = slots_and_limits(asked.load, asked.current, asked.slots, asked.tau, asked.give_up, asked.capacities)
        kept = most_state_kept(asked.load, asked.current, asked.slots, limits)
        _check(asked, _ask("ssm", asked), kept)
        if asked.capacities is None:
            _check(asked, _ask("simple-ssm", asked), kept)
            for engine in ("plain", "layered", "lagrangian"):
                _check(asked, _ask("ssm", asked, engine=engine), kept)


@pytest.mark.parametrize("seed", range(3))
def test_every_engine_keeps_as_much_state_as_exhaustion(seed: int) -> None:
    _compare(seed, 800)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 125))
def test_every_engine_keeps_as_much_state_as_exhaustion_twenty_thousand_times(seed: int) -> None:
    _compare(seed, 800)


def test_equal_questions_get_equal_plans_from_every_engine() -> None:
    for asked in questions(seed=77, count=200, bins_max=12):
        if asked.capacities is None:
            plain, layered = (_ask("ssm", asked, engine=engine) for engine in ("plain", "layered"))
            assert plain.target == layered.target == _ask("ssm", asked, engine="layered").target


def test_the_smallest_tau_works_and_a_little_less_does_not() -> None:
    refused = 0
    for asked in questions(seed=5, count=600):
        answer = _ask("ssm", asked)
        if answer.feasible:
            continue
        refused += 1
        assert answer.smallest_tau is not None
        assert _ask("ssm", replace(asked, tau=answer.smallest_tau)).feasible
        assert not _ask("ssm", replace(asked, tau=answer.smallest_tau * 0.999)).feasible
    assert refused > 50
