"""``bench planner``: every case has its sizes, its time and whether the plan is certified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whimbrel.bench import planner
from whimbrel.bench.planner import median_ms, run, uneven_question
from whimbrel.model import Assignment, Load
from whimbrel.planning import plan


def test_every_case_says_sizes_time_and_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "SIZES", ((64, 8, 10), (64, 12, 8)))
    cases = run({"large": False, "repeats": 1})["cases"]
    assert {case["planner"] for case in cases} == {"ssm", *planner.BASELINES}
    for case in cases:
        assert {"planner", "m", "n", "slots", "ms", "certified"} <= set(case)
        assert case["ms"] > 0
        if case["planner"] != "any-map":
            assert case["certified"] == (case["planner"] == "ssm")
        else:
            assert case["certified"] == costs_its_own_bound(case)


def costs_its_own_bound(case: dict[str, Any]) -> bool:
    """Whether the plan of an any-map case costs no more than what every balanced map must cost."""
    work, state, boundaries, _ = uneven_question(case["m"], case["n"], case["slots"], seed=1)
    owner = np.repeat(np.arange(case["n"]), np.diff(boundaries))
    load = Load(tuple(work.tolist()), tuple(state.tolist()))
    answer = plan("any-map", load, Assignment(tuple(owner.tolist())), case["slots"], 0.2)
    return answer.cost == answer.lower_bound


def test_the_median_ignores_the_first_call() -> None:
    ticks = iter([0.0, 1.0, 10.0, 12.0, 20.0, 23.0])
    calls: list[int] = []
    assert median_ms(lambda: calls.append(1), repeats=3, clock=lambda: next(ticks)) == 2000
    assert len(calls) == 4


@pytest.mark.slow
def test_plans_are_as_fast_as_promised_on_a_quiet_machine() -> None:
    cases = run({"repeats": 30})["cases"]
    best: dict[tuple[int, int], float] = {}
    for case in cases:
        if case["planner"] == "ssm":
            size = case["m"], case["slots"]
            best[size] = min(best.get(size, 1e9), case["ms"])
    limits = {64: 0.06, 1024: 4.0, 1 << 20: 2000.0}
    assert {size: ms for size, ms in best.items() if ms > limits.get(size[0], 1e9)} == {}
