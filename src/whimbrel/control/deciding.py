"""The decision behind a seal: from the seal before, the new records and the measured epochs, what this epoch is.

A pure function. At most one new step per epoch; plans one after the other, in the order of their numbers; a
pause stops new steps only; a cancel ends the plans that were posted before it, where they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from whimbrel.control.records import Cancelled, Numbered, Paused, PlanPosted, Resumed
from whimbrel.control.seal import Seal, Step
from whimbrel.control.stamped import StampedAssignment
from whimbrel.migration import EpochFact, Pacing, next_step
from whimbrel.model.assignment import Assignment
from whimbrel.model.move import Move


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the decision may look up: maps by digest, records by number, the facts of measured epochs."""

    stamped: Callable[[str], StampedAssignment]
    record: Callable[[int], PlanPosted]
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
        plan_began_at=previous.plan_began_at,
        waiting=previous.waiting,
        log_read=previous.log_read,
        paused=previous.paused,
        gap_left=max(0, previous.gap_left - 1),
        batch_size=previous.batch_size,
    )
    for numbered in records:
        seal = _read(seal, numbered)
    return _advance(seal, around.stamped(seal.assignment), around, gap_over=previous.gap_left == 0)


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
            ended = tuple((n, "cancelled") for n in (seal.plan, *seal.waiting) if n)
            return replace(seal, plan=0, waiting=(), gap_left=0, retired=seal.retired + ended)


def _advance(
    seal: Seal, stamped: StampedAssignment, around: Surroundings, gap_over: bool
) -> tuple[Seal, StampedAssignment]:
    """Take up plans until one of them has something to move in this epoch."""
    while True:
        if not seal.plan:
            if not seal.waiting:
                return seal, stamped
            seal = _take_up_next(seal)
            gap_over = True
        plan = around.record(seal.plan)
        remaining = stamped.assignment.moves_to(Assignment(plan.target))
        if remaining:
            if seal.paused or not gap_over:
                return seal, stamped
            return _seal_step(seal, stamped, plan, remaining, around)
        seal = replace(seal, plan=0, gap_left=0, batch_size=0.0, retired=(*seal.retired, (seal.plan, "done")))


def _take_up_next(seal: Seal) -> Seal:
    number, *rest = seal.waiting
    return replace(seal, plan=number, waiting=tuple(rest), batch_size=0.0, plan_began_at=seal.assignment)


def _seal_step(
    seal: Seal, stamped: StampedAssignment, plan: PlanPosted, remaining: tuple[Move, ...], around: Surroundings
) -> tuple[Seal, StampedAssignment]:
    pacing = Pacing(**plan.pacing)
    facts = around.facts() if pacing.name == "budget" else ()
    moves, size = next_step(pacing, remaining, seal.batch_size, facts)
    step = Step(seal.steps_sealed + 1, moves)
    upcoming = stamped.after(step)
    sealed = replace(
        seal,
        leaving=step,
        next_assignment=upcoming.digest,
        steps_sealed=step.number,
        gap_left=pacing.gap_epochs,
        batch_size=size,
    )
    return sealed, upcoming
