"""What users may ask for beside slots and tau, and what they are told when it cannot be."""

from __future__ import annotations

import pytest
from tests.planning.questions import questions

from whimbrel.model import Assignment, BadInput, Load
from whimbrel.planning import PLANNERS, plan
from whimbrel.planning.validator import faults_of

EQUAL = Load(work=(1,) * 12, state=(1,) * 12)


def test_named_slots_end_empty_and_others_take_their_place() -> None:
    answer = plan("ssm", EQUAL, Assignment.even(12, 4), 4, 0.0, give_up=[1])
    assert answer.target is not None
    assert answer.target.active_slots == (0, 2, 3, 4)
    assert answer.cost == 3


def test_without_names_the_planner_chooses_whom_to_give_up() -> None:
    load = Load(work=(1,) * 6, state=(9, 9, 1, 1, 9, 9))
    answer = plan("ssm", load, Assignment((0, 0, 1, 1, 2, 2)), 2, 0.0)
    assert answer.target is not None
    assert answer.target.active_slots == (0, 2)
    assert answer.cost == 2


def test_a_slot_of_twice_the_capacity_carries_twice_the_work() -> None:
    answer = plan("ssm", EQUAL, Assignment.even(12, 3), 3, 0.0, capacities=[1, 2, 1])
    assert answer.target is not None
    assert [len(answer.target.bins_of(slot)) for slot in range(3)] == [3, 6, 3]


def test_too_many_kinds_of_capacity_are_refused_in_one_line() -> None:
    load = Load(work=(1,) * 200, state=(1,) * 200)
    with pytest.raises(BadInput, match="round the capacities"):
        plan("ssm", load, Assignment.even(200, 40), 40, 0.5, capacities=[1 + slot / 100 for slot in range(40)])


def test_a_limit_that_floats_would_miss_by_one_is_kept_exactly() -> None:
    load = Load(work=(45,), state=(1,))
    assert plan("ssm", load, Assignment((0,)), 1, 0.4).limit == 63
    tenths = Load(work=(0.1,) * 3, state=(1, 1, 1))
    assert plan("ssm", tenths, Assignment((0, 0, 0)), 1, 0.0).feasible


def test_work_beyond_64_bits_is_compared_exactly() -> None:
    big = 10**30
    load = Load(work=(big + 1, big, big), state=(1, 1, 1))
    answer = plan("ssm", load, Assignment((0, 0, 1)), 3, 0.0)
    assert not answer.feasible
    assert plan("ssm", load, Assignment((0, 0, 1)), 3, 1e-9).feasible


def test_state_beyond_64_bits_is_costed_exactly() -> None:
    load = Load(work=(1, 1, 1, 1), state=(10**25, 1, 1, 10**25 + 7))
    answer = plan("ssm", load, Assignment((0, 0, 0, 0)), 2, 0.0)
    assert answer.cost == 10**25 + 1


def test_a_bin_over_the_limit_makes_the_plan_infeasible_and_clipping_says_so() -> None:
    load = Load(work=(90, 5, 5), state=(3, 2, 1))
    refused = plan("ssm", load, Assignment((0, 0, 0)), 2, 0.2)
    assert not refused.feasible and "bin 0 alone carries 90" in refused.reason
    assert refused.smallest_tau == pytest.approx(0.8)
    clipped = plan("ssm", load, Assignment((0, 0, 0)), 2, 0.2, clip=True)
    assert clipped.feasible and "counted as the limit" in clipped.reason
    assert clipped.max_load == 90 and clipped.cost == 3


def test_fewer_bins_than_slots_zero_work_and_zero_state_are_welcome() -> None:
    assert plan("ssm", Load((1, 1), (1, 1)), Assignment((0, 0)), 5, 2.0).cost == 1
    assert plan("ssm", Load((0, 0, 0), (1, 1, 1)), Assignment((0, 1, 1)), 2, 0.0).cost == 0
    assert plan("ssm", Load((1, 1, 2), (0, 0, 0)), Assignment((0, 0, 0)), 2, 0.0).cost == 0


@pytest.mark.parametrize("planner", [name for name in PLANNERS if name != "mtm"])
def test_every_planner_answers_with_a_valid_plan(planner: str) -> None:
    load = Load(work=tuple(1 + b % 5 for b in range(60)), state=tuple(1 + b % 7 for b in range(60)))
    strict = planner in {"ssm", "simple-ssm", "any-map"}
    for slots in (3, 5, 8):
        answer = plan(planner, load, Assignment.even(60, 5), slots, 0.3)
        again = plan(planner, load, Assignment.even(60, 5), slots, 0.3)
        assert answer.feasible and answer.target == again.target
        assert not faults_of(answer, load, keeps_limit=strict, contiguous=planner in {"ssm", "simple-ssm", "even"})
        assert strict or ("over its limit" in answer.reason) == (answer.max_load > answer.limit)


@pytest.mark.parametrize("planner", [name for name in PLANNERS if name != "mtm"])
def test_every_plan_for_random_questions_is_what_it_says(planner: str) -> None:
    strict, contiguous = planner in {"ssm", "simple-ssm", "any-map"}, planner in {"ssm", "simple-ssm", "even"}
    for asked in questions(seed=31, count=400, contiguous=planner in {"ssm", "simple-ssm"}):
        given = {"give_up": asked.give_up, "capacities": None if planner == "simple-ssm" else asked.capacities}
        answer = plan(planner, asked.load, asked.current, asked.slots, asked.tau, **given)
        faults = faults_of(answer, asked.load, contiguous=contiguous, keeps_limit=strict, **given)
        assert not faults, (asked, answer, faults)
        assert answer.feasible or strict


@pytest.mark.parametrize("loads", [((1e308, 1e308), (1, 1)), ((1, 1), (10**308, 10**308))])
def test_a_load_whose_sum_is_no_number_is_refused(loads: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    with pytest.raises(BadInput, match="use a larger unit"):
        Load(*loads)


@pytest.mark.parametrize(
    ("change", "lesson"),
    [
        ({"planner": "best"}, "choose one of ssm"),
        ({"slots": 0}, "at least one"),
        ({"slots": 1 << 40}, "at most"),
        ({"tau": -0.1}, "zero or more"),
        ({"tau": float("nan")}, "zero or more"),
        ({"give_up": [-1]}, "slots count from 0"),
        ({"load": Load((1e308, 1, 1), (1, 1, 1)), "tau": 2.0}, "use a larger unit"),
        ({"tau": 1e308}, "use a larger unit"),
        ({"seed": 3}, "no option 'seed'"),
        ({"engine": "steam"}, "no engine 'steam'"),
        ({"capacities": [1, 0]}, "must be positive"),
        ({"current": Assignment((0, 1, 0))}, "use planner any-map"),
        ({"current": Assignment((0, 1))}, "they must agree"),
        ({"current": Assignment((0, 1, 10**12))}, "slots count from 0"),
    ],
)
def test_unusable_questions_are_refused_with_a_lesson(change: dict[str, object], lesson: str) -> None:
    question: dict[str, object] = {
        "planner": "ssm",
        "load": Load((1, 1, 1), (1, 1, 1)),
        "current": Assignment((0, 0, 1)),
        "slots": 2,
        "tau": 0.5,
    }
    with pytest.raises(BadInput, match=lesson):
        plan(**{**question, **change})  # type: ignore[arg-type]


def test_hash_modulo_moves_the_share_that_residues_say() -> None:
    answer = plan("ssm", EQUAL, Assignment.even(12, 4), 6, 0.5)
    stays = sum(residue % 4 == residue % 6 for residue in range(12))
    assert answer.hash_cost == 12 - stays == 8
