"""Does a plan do what it says? Recomputed from the load and the two assignments alone, by other means than planning.

Knows no algorithm of this room: it counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from whimbrel.model import Assignment, Load, Plan
from whimbrel.model.limit import exact
from whimbrel.model.load import Number

if TYPE_CHECKING:
    from whimbrel.planning.sequence import PlannedSequence


def faults_of(
    plan: Plan,
    load: Load,
    *,
    contiguous: bool = False,
    keeps_limit: bool = True,
    give_up: Iterable[int] = (),
    capacities: Sequence[Number] | None = None,
) -> list[str]:
    """Everything that is wrong with a plan, in words; empty where it is right."""
    if plan.target is None:
        return _refusal_faults(plan)
    if plan.target.bins != load.bins:
        return [f"{plan.target.bins} bins are assigned, there are {load.bins}"]
    faults = [] if plan.feasible else ["the plan has a target and calls itself infeasible"]
    faults += _shape_faults(plan, contiguous, set(give_up))
    faults += _cost_faults(plan, load)
    faults += _load_faults(plan, load, keeps_limit, capacities, set(give_up))
    return faults


def faults_of_sequence(
    answer: PlannedSequence, load: Load, current: Assignment, targets: Sequence[tuple[int, float]]
) -> list[str]:
    """Everything that is wrong with a planned sequence, step by step, in words; empty where it is right."""
    if not answer.feasible:
        return [] if answer.reason and not answer.steps else ["an infeasible sequence has a reason and no steps"]
    faults = [] if len(answer.steps) == len(targets) else [f"{len(answer.steps)} steps for {len(targets)} targets"]
    here, total = current, Fraction(0)
    for index, (step, (slots, tau)) in enumerate(zip(answer.steps, targets, strict=False)):
        faults += [f"step {index}: {fault}" for fault in _step_faults(step.target, step.cost, load, here, slots, tau)]
        here, total = step.target, total + exact(step.cost)
    if float(total) != float(answer.cost):
        faults.append(f"the steps cost {float(total)}, the sequence says {answer.cost}")
    if not answer.lower_bound <= answer.cost <= answer.greedy_cost:
        faults.append(f"{answer.cost} is not between {answer.lower_bound} and {answer.greedy_cost}")
    return faults


def _step_faults(
    target: Assignment, cost: Number, load: Load, current: Assignment, slots: int, tau: float
) -> list[str]:
    """A step judged as a plan of its own: what it says of its cost, its limit kept, its bins contiguous."""
    total = sum(map(exact, load.state), Fraction(0))
    work: dict[int, Fraction] = defaultdict(Fraction)
    for b, slot in enumerate(target.owner):
        work[slot] += exact(load.work[b])
    stated = Plan(
        planner="sequence",
        feasible=True,
        slots=slots,
        tau=tau,
        current=current,
        target=target,
        cost=cost,
        gain=float(total - exact(cost)),
        lower_bound=0,
        limit=0.0,
        max_load=float(max(work.values())),
        hash_cost=0,
        seconds=0.0,
    )
    return faults_of(stated, load, contiguous=True)


def _refusal_faults(plan: Plan) -> list[str]:
    faults = ["infeasible plans have no target, feasible ones do"] if plan.feasible else []
    if not plan.reason:
        faults.append("an infeasible plan says why")
    if plan.smallest_tau is None or not plan.smallest_tau > plan.tau:
        faults.append(f"tau {plan.tau} is infeasible, but the tau that works is said to be {plan.smallest_tau}")
    return faults


def _shape_faults(plan: Plan, contiguous: bool, given_up: set[int]) -> list[str]:
    assert plan.target is not None
    owner = plan.target.owner
    faults: list[str] = []
    used = set(owner)
    if len(used) > plan.slots:
        faults.append(f"{len(used)} slots are used, {plan.slots} were asked for")
    if used & given_up:
        faults.append(f"slots {sorted(used & given_up)} had to be given up and are used")
    runs = 1 + sum(left != right for left, right in pairwise(owner))
    if contiguous and runs != len(used):
        faults.append(f"{len(used)} slots own {runs} runs of bins: the plan is not contiguous")
    return faults


def _cost_faults(plan: Plan, load: Load) -> list[str]:
    assert plan.target is not None
    moved, total, faults = Fraction(0), Fraction(0), []
    for b, size in enumerate(load.state):
        total += exact(size)
        if plan.current.owner[b] != plan.target.owner[b]:
            moved += exact(size)
    if float(moved) != float(plan.cost):
        faults.append(f"{float(moved)} of state moves, the plan says {plan.cost}")
    if float(total - moved) != float(plan.gain):
        faults.append(f"{float(total - moved)} of state stays, the plan says {plan.gain}")
    if plan.lower_bound > plan.cost:
        faults.append(f"the plan costs {plan.cost}, under its lower bound {plan.lower_bound}")
    return faults


def _load_faults(
    plan: Plan, load: Load, keeps_limit: bool, capacities: Sequence[Number] | None, given_up: set[int]
) -> list[str]:
    assert plan.target is not None
    carried: dict[int, Fraction] = defaultdict(Fraction)
    for b, slot in enumerate(plan.target.owner):
        carried[slot] += exact(load.work[b])
    faults = []
    if float(max(carried.values())) != float(plan.max_load):
        faults.append(f"the busiest slot carries {float(max(carried.values()))}, the plan says {plan.max_load}")
    share = (1 + Fraction(str(plan.tau))) * sum(carried.values(), Fraction(0))
    weights = _weights(plan, capacities, given_up)
    for slot, work in sorted(carried.items()):
        limit = share * weights[slot] / sum(sorted(weights.values(), reverse=True)[: plan.slots])
        if keeps_limit and work > limit:
            faults.append(f"slot {slot} carries {float(work)}, its limit is {float(limit)}")
    return faults


def _weights(plan: Plan, capacities: Sequence[Number] | None, given_up: set[int]) -> dict[int, Fraction]:
    """Capacity of each slot that could have been used."""
    highest = max(plan.slots, max(plan.current.owner) + 1) + len(given_up)
    assert plan.target is not None
    slots = set(range(max(plan.slots, max(plan.current.owner) + 1))) - given_up
    slots |= set(plan.target.owner)
    spare = (slot for slot in range(highest) if slot not in given_up)
    while len(slots) < plan.slots:
        slots.add(next(spare))
    known = list(capacities or ())
    return {slot: exact(known[slot]) if slot < len(known) else Fraction(1) for slot in slots}
