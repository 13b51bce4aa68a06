"""Known changes planned together: the sequence of targets whose total cost is the least.

Each step has its own slots and tau; load and state stay. Slots follow from the cuts: between neighbouring partitions
the best matching decides who keeps what. Small questions are answered exactly, by a shortest path through all
partitions of all steps; larger ones by pools of good partitions that grow until they stop helping. Then the lower
bound of ``sequence_bound`` says how far from the best the answer can be at most: its ``gap``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from whimbrel.model import Assignment, BadInput, Load
from whimbrel.model.limit import exact as as_rational
from whimbrel.model.load import Number
from whimbrel.planning import feasibility, ssm
from whimbrel.planning.instance import WIDEST, Instance, Integers, plain
from whimbrel.planning.interval_matching import keepers_of


@dataclass(frozen=True)
class Step:
    """One change of the sequence: what it aims at, where it leads and what it moves."""

    slots: int
    tau: float
    target: Assignment
    cost: Number


@dataclass(frozen=True)
class PlannedSequence:
    """All steps, or none where some step is infeasible; ``greedy_cost`` is what step-by-step planning moves."""

    feasible: bool
    steps: tuple[Step, ...]
    cost: Number
    greedy_cost: Number
    lower_bound: Number
    exact: bool
    reason: str = ""

    @property
    def gap(self) -> float:
        """The cost is at most this share above the least possible: 0.25 says a quarter; infinite where nothing must move."""
        if self.cost == self.lower_bound:
            return 0.0
        return float(self.cost) / float(self.lower_bound) - 1 if self.lower_bound else math.inf


@dataclass(frozen=True)
class SequenceProblem:
    """The sequence as cuts: where it starts, and how far an interval reaches in each step."""

    start: Integers
    prefix: Integers
    state: Integers
    reach: tuple[Integers, ...]
    slots: tuple[int, ...]


def plan_sequence(
    load: Load, current: Assignment, targets: Sequence[tuple[int, float]], *, rounds: int = 6, seed: int = 0
) -> PlannedSequence:
    """Plans all of ``targets`` = [(slots, tau), ...] together. Never dearer than planning step by step.

    ``rounds`` and ``seed`` steer the search of large questions; exact answers do not depend on them.

    >>> ones = Load(work=(1,) * 13, state=(1,) * 13)
    >>> start = Assignment.from_intervals([(0, 4), (4, 9), (9, 13)], 13)
    >>> answer = plan_sequence(ones, start, [(2, 0.4), (3, 0.4)])
    >>> answer.cost, answer.greedy_cost > answer.cost, answer.exact
    (6, True, True)
    """
    from whimbrel.planning import sequence_exact, sequence_pools

    if not targets:
        raise BadInput("a sequence needs at least one target")
    asked = [Instance(load, current, slots, tau) for slots, tau in targets]
    for index, instance in enumerate(asked):
        if not _fits(instance):
            tau = feasibility.smallest_tau(instance)
            reason = f"step {index}: no {instance.slots} intervals keep the limit; the smallest tau is {tau:.6g}"
            return PlannedSequence(False, (), 0, 0, 0, True, reason)
    greedy = _greedy(asked)
    problem = _problem(asked)
    paths = sequence_exact.shortest_path(problem)
    exact = paths is not None
    if paths is None:
        paths = sequence_pools.short_path(problem, [_cuts(step.target) for step in greedy], rounds, seed)
    steps = _labelled(asked, paths)
    if sum(step.cost for step in greedy) <= sum(step.cost for step in steps):
        steps = greedy
    cost = sum(step.cost for step in steps)
    bound = cost if exact else _bound(asked, problem)
    return PlannedSequence(True, steps, cost, sum(step.cost for step in greedy), bound, exact)


def _fits(instance: Instance) -> bool:
    work, _ = instance.scaled_work
    prefix = [0]
    for value in work:
        prefix.append(prefix[-1] + value)
    return feasibility.intervals_needed(prefix, instance.whole_limit, instance.slots) <= instance.slots


def _problem(asked: Sequence[Instance]) -> SequenceProblem:
    state = asked[0].whole_state
    return SequenceProblem(
        start=asked[0].boundaries,
        prefix=np.concatenate([np.zeros(1, np.int64), np.cumsum(state)]),
        state=state,
        reach=tuple(ssm.reach_within(instance) for instance in asked),
        slots=tuple(min(instance.slots, instance.load.bins) for instance in asked),
    )


def _greedy(asked: Sequence[Instance]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for instance in asked:
        here = replace(instance, current=steps[-1].target) if steps else instance
        intervals = ssm.solve(here)
        assert intervals is not None, "feasibility does not depend on where the step starts"
        target = ssm.target_of(here, intervals)
        steps.append(Step(here.slots, float(here.tau), target, here.cost_of(target)))
    return tuple(steps)


def _direct_cost(instance: Instance) -> Number:
    intervals = ssm.solve(instance)
    assert intervals is not None, "the caller knows that every step is feasible"
    return instance.cost_of(ssm.target_of(instance, intervals))


def _bound(asked: Sequence[Instance], problem: SequenceProblem) -> Number:
    from whimbrel.planning.sequence_bound import least_between, lower_bound

    direct = [as_rational(_direct_cost(instance)) for instance in asked]
    values, scale = asked[0].scaled_state
    if sum(values) > WIDEST:
        return plain(max(direct))
    between = least_between(problem.state, problem.reach, problem.slots)
    return plain(lower_bound(direct, [Fraction(moved, scale) for moved in between]))


def _labelled(asked: Sequence[Instance], path: Sequence[Integers]) -> tuple[Step, ...]:
    """Gives the intervals of each step their slots: kept ones by the best matching, others the lowest unused."""
    steps: list[Step] = []
    for instance, cuts in zip(asked, path, strict=True):
        here = replace(instance, current=steps[-1].target) if steps else instance
        prefix = np.concatenate([np.zeros(1, np.int64), np.cumsum(here.whole_state)])
        gain, keepers = keepers_of(prefix, here.boundaries, cuts)
        intervals = ssm.Intervals(int(gain), tuple(cuts.tolist()), tuple(keepers.tolist()))
        target = ssm.target_of(here, intervals)
        steps.append(Step(here.slots, float(here.tau), target, here.cost_of(target)))
    return tuple(steps)


def _cuts(target: Assignment) -> Integers:
    owner = np.asarray(target.owner)
    return np.concatenate([[0], np.flatnonzero(np.diff(owner)) + 1, [owner.size]]).astype(np.int64)
