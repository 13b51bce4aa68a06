"""Walking chains of migrations with different planners, and what their costs say, with confidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from whimbrel.model import Assignment, Load
from whimbrel.planning import plan
from whimbrel.planning.mtm_backtest import Step
from whimbrel.planning.projection_overlap import kept
from whimbrel.planning.projection_problem import Block, Problem
from whimbrel.planning.projection_reach import IntArray
from whimbrel.planning.projection_space import FloatArray, LongArray

CONFIDENCE = 0.95

Place = tuple[int, tuple[int, ...]]
"""A slot count and the interior cuts of a partition for it."""


@dataclass(frozen=True)
class Walked:
    """Per chain: the mean share of the state moved per migration, and the mean of (busiest slot over the mean).

    ``balance`` is None where only the cost was followed. ``visited`` are all places that the walks came by.
    """

    moved: FloatArray
    balance: FloatArray | None
    visited: frozenset[Place] = frozenset()

    def row(self, against: Walked | None) -> dict[str, float | int | None]:
        """Means over chains with 95 % confidence; ``saved`` compares chain by chain with another planner."""
        found: dict[str, float | int | None] = {
            "chains": len(self.moved),
            "moved_percent": 100 * float(self.moved.mean()),
            "moved_ci": 100 * _half_width(self.moved),
            "balance": None if self.balance is None else float(self.balance.mean()),
            "worst_balance": None if self.balance is None else float(self.balance.max()),
        }
        if against is not None:
            base = against.moved[: len(self.moved)]
            found["saved_percent"] = 100 * float(1 - self.moved.mean() / base.mean()) if base.mean() else 0.0
            found["saved_ci"] = 100 * _half_width((base - self.moved) / base.mean()) if base.mean() else 0.0
        return found


def _half_width(values: FloatArray) -> float:
    """Half the width of Student's confidence interval of the mean."""
    from scipy.stats import t

    if len(values) < 2:
        return 0.0
    quantile = t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)
    return float(quantile * values.std(ddof=1) / np.sqrt(len(values)))


def walk_cuts(load: Load, start: Callable[[int], IntArray], step: Step, chains: Sequence[Sequence[int]]) -> Walked:
    """Walks planners that know only cuts; ``start`` gives the cuts of a chain's first slot count."""
    prefix = np.concatenate([[0.0], np.cumsum(np.asarray(load.state, np.float64))])
    work = np.concatenate([[0.0], np.cumsum(np.asarray(load.work, np.float64))])
    moved, balance = [], []
    visited: set[Place] = set()
    for chain in chains:
        cuts, costs, tops = start(chain[0]), [], []
        for slots in chain[1:]:
            following = step(cuts, slots)
            costs.append((prefix[-1] - kept(cuts, following, prefix)) / prefix[-1])
            edges = np.concatenate([[0], following, [load.bins]])
            tops.append(float(np.diff(work[edges]).max()) * slots / work[-1])
            cuts = following
            visited.add((slots, tuple(cuts.tolist())))
        moved.append(float(np.mean(costs)))
        balance.append(float(np.mean(tops)))
    return Walked(np.array(moved), np.array(balance), frozenset(visited))


def walk_assignments(
    planner: str, load: Load, tau: float | str, chains: Sequence[Sequence[int]], seeded: bool = False
) -> Walked:
    """Walks any planner by name, from an even start; ``seeded`` gives every chain a ring of its own."""
    total, mean = float(sum(load.state)), float(sum(load.work))
    moved, balance = [], []
    for index, chain in enumerate(chains):
        options: dict[str, Any] = {"seed": index} if seeded else {}
        here = plan(planner, load, Assignment.even(load.bins, chain[0]), chain[0], tau, **options).target
        assert here is not None
        costs, tops = [], []
        for slots in chain[1:]:
            answer = plan(planner, load, here, slots, tau, **options)
            assert answer.target is not None
            costs.append(float(answer.cost) / total)
            tops.append(float(answer.max_load) * slots / mean)
            here = answer.target
        moved.append(float(np.mean(costs)))
        balance.append(float(np.mean(tops)))
    return Walked(np.array(moved), np.array(balance))


def hindsight(problem: Problem, start: Callable[[int], IntArray], chains: Sequence[Sequence[int]]) -> Walked:
    """The least that any planner on intervals could have moved, had it known each chain: exact, backwards in time."""
    states = problem.instance.states
    moved = []
    for chain in chains:
        ahead = np.zeros(problem.size)
        for before, after in reversed(list(pairwise(chain[1:]))):
            ahead = _one_back(problem, states.index(before), states.index(after), ahead)
        moved.append(_first_step(problem, start(chain[0]), states.index(chain[1]), ahead))
    shares = np.array(moved) / problem.total_state / (len(chains[0]) - 1)
    return Walked(shares, None)


def hindsight_among(
    places: frozenset[Place], prefix: FloatArray, start: Callable[[int], IntArray], chains: Sequence[Sequence[int]]
) -> Walked:
    """The least that moves between these places for who knows each chain: where not all partitions can be listed.

    No planner that keeps to these places moves less; the true hindsight may.
    """
    pools = {
        slots: [np.array(cuts, np.int32) for n, cuts in sorted(places) if n == slots] for slots, _ in sorted(places)
    }
    known: dict[tuple[int, int], FloatArray] = {}
    moved = []
    for chain in chains:
        reached = _costs_between([start(chain[0])], pools[chain[1]], prefix)[0]
        for before, after in pairwise(chain[1:]):
            if (before, after) not in known:
                known[before, after] = _costs_between(pools[before], pools[after], prefix)
            reached = (reached[:, None] + known[before, after]).min(axis=0)
        moved.append(float(reached.min()) / prefix[-1] / (len(chain) - 1))
    return Walked(np.array(moved), None)


def _costs_between(olds: list[IntArray], news: list[IntArray], prefix: FloatArray) -> FloatArray:
    return np.asarray(prefix[-1] - _kept_between(*_packed(olds), *_packed(news), prefix))


def _packed(partitions: list[IntArray]) -> tuple[LongArray, IntArray]:
    offset = np.concatenate([[0], np.cumsum([len(cuts) for cuts in partitions])]).astype(np.int64)
    return offset, np.concatenate(partitions).astype(np.int32)


@njit(cache=True)
def _kept_between(
    old_offset: LongArray, olds: IntArray, new_offset: LongArray, news: IntArray, prefix: FloatArray
) -> FloatArray:
    found = np.empty((len(old_offset) - 1, len(new_offset) - 1))
    for a in range(len(old_offset) - 1):
        for b in range(len(new_offset) - 1):
            old = olds[old_offset[a] : old_offset[a + 1]]
            found[a, b] = kept(old, news[new_offset[b] : new_offset[b + 1]], prefix)
    return found


def _one_back(problem: Problem, source: int, target: int, ahead: FloatArray) -> FloatArray:
    size = problem.spaces[source].size
    block = Block(source, target, 0, size)
    searched = problem.target(ahead, problem.weights_of(ahead, target), target)
    before = np.zeros(problem.size)
    problem.costs_of(before, source)[:] = problem.solve(block, searched, np.full(size, -1, np.int32)).values
    return before


def _first_step(problem: Problem, cuts: IntArray, target: int, ahead: FloatArray) -> float:
    space = problem.spaces[target]
    costs = problem.costs_of(ahead, target)
    totals = [
        problem.total_state - kept(cuts, space.cuts[space.offset[r] : space.offset[r + 1]], problem.prefix) + costs[r]
        for r in range(space.size)
    ]
    return float(min(totals))
