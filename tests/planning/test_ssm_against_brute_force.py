"""Every exact planner against exhaustion, on questions of every kind. Costs are compared, never partitions."""

from __future__ import annotations

from collections import Counter
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


ENGINES = ("simple-ssm", "plain", "layered", "lagrangian")


def _compare(seed: int, count: int, engines: int) -> Counter[str]:
    """Asks ``ssm`` and, in turn, so many of the other engines; counts the questions by kind."""
    kinds: Counter[str] = Counter()
    for number, asked in enumerate(questions(seed, count)):
        limits = slots_and_limits(asked.load, asked.current, asked.slots, asked.tau, asked.give_up, asked.capacities)
        kept = most_state_kept(asked.load, asked.current, asked.slots, limits)
        kinds.update(asked.kinds | {"feasible" if kept is not None else "infeasible"})
        _check(asked, _ask("ssm", asked), kept)
        for engine in (ENGINES * 2)[number % 4 : number % 4 + engines] if asked.capacities is None else ():
            named = engine == "simple-ssm"
            _check(asked, _ask(engine, asked) if named else _ask("ssm", asked, engine=engine), kept)
    return kinds


@pytest.mark.parametrize("seed", range(4))
def test_twenty_thousand_plans_keep_as_much_state_as_exhaustion(seed: int) -> None:
    kinds = _compare(seed, 5_000, engines=1)
    assert len(kinds) == 18 and min(kinds.values()) >= 50, kinds


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(8))
def test_every_engine_keeps_as_much_state_as_exhaustion_a_hundred_thousand_times(part: int, seed: int) -> None:
    _compare(seed + part, 12_500, engines=4)


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
