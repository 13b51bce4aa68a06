"""The decision behind a seal: from the seal before, the new records and the measured epochs, what this epoch is.

A pure function. At most one new step per epoch; plans one after the other, in the order of their numbers; a
pause stops new steps only; a cancel ends the plans that were posted before it, where they stand; a rollback ends them as
well and is itself the next plan.

A step needs every operator of the query: one that does not run in the epoch exports nothing, and its bins would never
reach their new slots. Spark skips an operator whose sources have nothing new. So the epoch that first reads a record
only takes its plan up. A step is sealed where the seal *before* wanted this epoch: then every operator's heartbeat did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from whimbrel.control.records import Cancelled, Migration, Numbered, Paused, PlanPosted, Resumed, RolledBack
from whimbrel.control.seal import Ending, Seal, Step
from whimbrel.control.stamped import StampedAssignment
from whimbrel.migration import EpochFact, Pacing, next_step
from whimbrel.model.assignment import Assignment
from whimbrel.model.move import Move


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the decision may look up: maps by digest, plans and rollbacks by number, the facts of measured epochs."""

    stamped: Callable[[str], StampedAssignment]
    record: Callable[[int], Migration]
    facts: Callable[[], Sequence[EpochFact]]


def genesis(initial: StampedAssignment) -> Seal:
    """The seal "before the first epoch" of a job."""
    return Seal(epoch=-1, assignment=initial.digest, next_assignment=initial.digest, plan_began_at=initial.digest)


def decide(
    epoch: int, previous: Seal, records: Sequence[Numbered], around: Surroundings
) -> tuple[Seal, StampedAssignment]:
    """The unsigned seal of ``epoch`` and the stamped assignment that it brings into force one epoch later."""
    seal = Seal(
        epoch=epoch,
        assignment=previous.next_assignment,
        next_assignment=previous.next_assignment,
        arriving=previous.leaving,
        releasing=previous.arriving,
        steps_sealed=previous.steps_sealed,
        plan=previous.plan,
        plan_steps=previous.plan_steps,
        plan_began_at=previous.plan_began_at,
        rollback_to=previous.rollback_to,
        waiting=previous.waiting,
        log_read=previous.log_read,
        paused=previous.paused,
        gap_left=max(0, previous.gap_left - 1),
        batch_size=previous.batch_size,
    )
    stamped = around.stamped(seal.assignment)
    seal, remaining = _plan_in_progress(seal, stamped, around)
    for numbered in records:
        # One after the other: what a rollback undoes must not depend on how many records an epoch finds.
        seal, remaining = _plan_in_progress(_read(seal, numbered), stamped, around)
    resting = seal.plan == previous.plan and previous.gap_left > 0
    if not remaining or seal.paused or resting or not previous.wants_epoch:
        return seal, stamped
    return _seal_step(seal, stamped, remaining, around)


def target_of(seal: Seal, record: Migration, stamped: Callable[[str], StampedAssignment]) -> Assignment:
    """Where the plan or rollback in progress leads: a plan says so itself, a rollback was resolved when it was read."""
    return Assignment(record.target) if isinstance(record, PlanPosted) else stamped(seal.rollback_to).assignment


def _read(seal: Seal, numbered: Numbered) -> Seal:
    seal = replace(seal, log_read=numbered.number)
    match numbered.record:
        case PlanPosted():
            return replace(seal, waiting=(*seal.waiting, numbered.number))
        case Paused():
            return replace(seal, paused=True)
        case Resumed():
            return replace(seal, paused=False)
        case Cancelled():
            return _without_plans(seal)
        case RolledBack():
            # A plan that has moved nothing yet is undone by staying.
            goal = seal.assignment if seal.plan and not seal.plan_steps else seal.plan_began_at
            return replace(_without_plans(seal), waiting=(numbered.number,), rollback_to=goal)


def _without_plans(seal: Seal) -> Seal:
    steps = {seal.plan: seal.plan_steps}
    ended = tuple(Ending(n, "cancelled", steps.get(n, 0)) for n in (seal.plan, *seal.waiting) if n)
    return replace(seal, plan=0, plan_steps=0, waiting=(), gap_left=0, retired=seal.retired + ended)


def _plan_in_progress(seal: Seal, stamped: StampedAssignment, around: Surroundings) -> tuple[Seal, tuple[Move, ...]]:
    """The seal at the first plan that still has something to move, and its moves; plans that have nothing end here."""
    while seal.plan or seal.waiting:
        if not seal.plan:
            number, *rest = seal.waiting
            seal = replace(seal, plan=number, plan_steps=0, waiting=tuple(rest), batch_size=0.0)
        target = target_of(seal, around.record(seal.plan), around.stamped)
        remaining = stamped.assignment.moves_to(target)
        if remaining:
            return seal, remaining
        done = Ending(seal.plan, "done", seal.plan_steps)
        seal = replace(seal, plan=0, plan_steps=0, gap_left=0, batch_size=0.0, retired=(*seal.retired, done))
    return seal, ()


def _seal_step(
    seal: Seal, stamped: StampedAssignment, remaining: tuple[Move, ...], around: Surroundings
) -> tuple[Seal, StampedAssignment]:
    pacing = Pacing(**around.record(seal.plan).pacing)
    facts = around.facts() if pacing.name == "budget" else ()
    moves, size = next_step(pacing, remaining, seal.batch_size, facts)
    step = Step(seal.steps_sealed + 1, moves)
    upcoming = stamped.after(step)
    sealed = replace(
        seal,
        leaving=step,
        next_assignment=upcoming.digest,
        steps_sealed=step.number,
        plan_steps=seal.plan_steps + 1,
        plan_began_at=seal.plan_began_at if seal.plan_steps else seal.assignment,
        gap_left=pacing.gap_epochs,
        batch_size=size,
    )
    return sealed, upcoming
