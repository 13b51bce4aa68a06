"""A cheap sequence for large questions: pools of partitions, a shortest path through them, and descent.

The pools begin with the targets of step-by-step planning, of planning every step from the start, and of every run of
steps treated as one: a partition that suits several steps in a row costs nothing between them. Then, round by round:
the shortest path through the pools; each run of its steps replaced by the best partition between the neighbours of the
run, while that helps; and what random weights on the state suggest in its place, so that the pools do not stay narrow.
Everything that was tried stays in the pools, so the path never gets longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whimbrel.planning.anchored_ssm import best_between
from whimbrel.planning.interval_matching import shared_state
from whimbrel.planning.sequence_exact import cheapest_path
from whimbrel.planning.ssm_lagrangian import plan_lagrangian
from whimbrel.planning.ssm_terrain import Integers, terrain_of

if TYPE_CHECKING:
    from whimbrel.planning.sequence import SequenceProblem

SWEEPS_MAX = 6
TRIES_CELLS = 20_000
TRIES_MAX = 40


def short_path(problem: SequenceProblem, greedy: list[Integers], rounds: int, seed: int) -> list[Integers]:
    """The cuts of every step of a cheap sequence; the same seed always finds the same one."""
    random = np.random.default_rng(seed)
    pools = [_Pool(cuts) for cuts in greedy]
    for first, last in _runs(len(pools)):
        _add(pools, first, last, _from(problem, problem.start, first, last, problem.state))
    _walk_back(problem, pools, greedy)
    best = _descended(problem, pools)
    for _ in range(rounds):
        _diversify(problem, pools, best, random)
        path = _descended(problem, pools)
        if length(problem, path) < length(problem, best):
            best = path
    return best


def _runs(steps: int) -> list[tuple[int, int]]:
    """Every run of steps, as (first, last), the short ones first."""
    return [(first, first + more) for more in range(steps) for first in range(steps - more)]


def length(problem: SequenceProblem, path: list[Integers]) -> int:
    """The total cost of a path."""
    total = int(problem.prefix[-1])
    pairs = zip([problem.start, *path], path, strict=False)
    return sum(total - int(shared_state(problem.prefix, before, after)) for before, after in pairs)


class _Pool:
    """Partitions of one step, each once, in the order they came."""

    def __init__(self, first: Integers) -> None:
        self._seen: set[bytes] = set()
        self.partitions: list[Integers] = []
        self.add(first)

    def add(self, cuts: Integers | None) -> None:
        if cuts is not None and cuts.tobytes() not in self._seen:
            self._seen.add(cuts.tobytes())
            self.partitions.append(cuts)


def _add(pools: list[_Pool], first: int, last: int, cuts: Integers | None) -> None:
    for pool in pools[first : last + 1]:
        pool.add(cuts)


def _common(problem: SequenceProblem, first: int, last: int) -> tuple[Integers, int]:
    """Reach and slots of a partition that suits every step of a run."""
    return np.maximum.reduce(problem.reach[first : last + 1]), min(problem.slots[first : last + 1])


def _from(problem: SequenceProblem, before: Integers, first: int, last: int, state: Integers) -> Integers | None:
    """The single-step plan for a run of steps, from a given partition, with given weights."""
    reach, slots = _common(problem, first, last)
    gain, cuts, _, _ = plan_lagrangian(reach, state, before, slots)
    return np.ascontiguousarray(cuts) if gain >= 0 else None


def _between(problem: SequenceProblem, path: list[Integers], first: int, last: int, state: Integers) -> Integers | None:
    """The best partition for a run of steps between the two neighbours of the run."""
    before = path[first - 1] if first else problem.start
    if last == len(path) - 1:
        return _from(problem, before, first, last, state)
    reach, slots = _common(problem, first, last)
    return best_between(reach, terrain_of(state, before), terrain_of(state, path[last + 1]), slots)


def _walk_back(problem: SequenceProblem, pools: list[_Pool], path: list[Integers]) -> None:
    """Partitions that suit the step after them: single-step plans from the last step backwards."""
    after: Integers | None = path[-1]
    for step in range(len(path) - 2, -1, -1):
        assert after is not None, "every single step is feasible"
        after = _from(problem, after, step, step, problem.state)
        pools[step].add(after)


def _descended(problem: SequenceProblem, pools: list[_Pool]) -> list[Integers]:
    path = cheapest_path(problem, [pool.partitions for pool in pools])
    for _ in range(SWEEPS_MAX):
        before = length(problem, path)
        for first, last in _affordable(problem, _runs(len(path))):
            _add(pools, first, last, _between(problem, path, first, last, problem.state))
        path = cheapest_path(problem, [pool.partitions for pool in pools])
        if length(problem, path) >= before:
            break
    return path


def _affordable(problem: SequenceProblem, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """All runs of a small question; the single steps of a large one."""
    small = len(problem.state) * max(problem.slots) <= TRIES_CELLS
    return [run for run in runs if small or run[1] == run[0]]


def _diversify(problem: SequenceProblem, pools: list[_Pool], path: list[Integers], random: np.random.Generator) -> None:
    """Adds what other weights on the state would choose for a random run of steps between its neighbours.

    Small questions get more tries a round: there they cost little and the pools are what limits the answer.
    """
    tries = int(np.clip(TRIES_CELLS // (len(problem.state) * max(problem.slots)), 1, TRIES_MAX))
    for first in np.repeat(np.arange(len(path)), tries).tolist():
        last = int(random.integers(first, len(path)))
        weights = random.uniform(0.3, 1.7, len(problem.state))
        state = (problem.state * weights).astype(np.int64)
        around = path if random.random() < 0.5 else [_any_of(pool, random) for pool in pools]
        before = around[first - 1] if first else problem.start
        _add(pools, first, last, _from(problem, before, first, last, state))
        _add(pools, first, last, _between(problem, around, first, last, state))


def _any_of(pool: _Pool, random: np.random.Generator) -> Integers:
    return pool.partitions[int(random.integers(len(pool.partitions)))]
