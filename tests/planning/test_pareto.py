"""Cost against balance: the staircase holds every undominated trade and nothing else."""

from __future__ import annotations

import numpy as np
from tests.planning.brute_force import most_state_kept

from whimbrel.model import Assignment, Load, Plan
from whimbrel.model.limit import exact
from whimbrel.planning import plan
from whimbrel.planning.cost_and_balance import cheapest_balance_within, pareto


def _load(seed: int, bins: int) -> Load:
    random = np.random.default_rng(seed)
    return Load(tuple(random.integers(0, 9, bins).tolist()), tuple(random.integers(0, 9, bins).tolist()))


def test_the_staircase_is_what_trying_every_limit_gives() -> None:
    for seed in range(25):
        load, current = _load(seed, 6), Assignment.even(6, 2)
        wanted = []
        for limit in range(sum(load.work) + 1):
            kept = most_state_kept(load, current, 3, {slot: exact(limit) for slot in range(3)})
            if kept is not None and (not wanted or sum(load.state) - kept < wanted[-1][1]):
                wanted.append((limit, sum(load.state) - kept))
        assert [(point.max_load, point.cost) for point in pareto(load, current, 3)] == wanted


def test_each_step_is_reached_by_planning_at_its_tau() -> None:
    load, current = _load(99, 40), Assignment.even(40, 5)
    for point in pareto(load, current, 7):
        answer: Plan = plan("ssm", load, current, 7, point.tau)
        assert answer.cost == point.cost and answer.max_load <= point.max_load


def test_the_best_balance_within_a_budget_is_a_step_of_the_staircase() -> None:
    load, current = _load(98, 40), Assignment.even(40, 5)
    points = pareto(load, current, 7)
    for budget in range(0, int(points[0].cost) + 2):
        best = cheapest_balance_within(load, current, 7, budget)
        affordable = [point for point in points if point.cost <= budget]
        assert best == (affordable[0] if affordable else None)
