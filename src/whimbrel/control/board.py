"""What anybody may see of a job and post to it, from any terminal: no Spark, no lease, just the directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from whimbrel.control import lease, statistics
from whimbrel.control.deciding import target_of
from whimbrel.control.log import ControlLog
from whimbrel.control.records import Cancelled, Numbered, Paused, PlanPosted, Record, Resumed, RolledBack
from whimbrel.control.seal import Ending, Seal
from whimbrel.control.seals import SealBook
from whimbrel.control.settings import JobSettings, operators, read_settings
from whimbrel.control.stores import Store, open_store
from whimbrel.migration import Pacing
from whimbrel.model.assignment import Assignment
from whimbrel.model.errors import BadInput
from whimbrel.model.load import Load
from whimbrel.model.plan import Plan


@dataclass(frozen=True, slots=True)
class Status:
    """A job at one moment. ``remaining`` counts the bins that the plan in progress still has to seal.

    ``running``: a query of the job runs, as far as its driver knows. ``driver``: a process holds the job, with or without
    a query. ``unread``: records that no epoch has read yet.
    """

    name: str
    directory: str
    running: bool
    epoch: int
    slots: tuple[int, ...]
    bins: int
    plan: int
    waiting: tuple[int, ...]
    remaining: int
    travelling: int
    paused: bool
    steps: int
    generation: int
    settled: bool
    driver: bool
    unread: int


class Board:
    """One job directory. Raises BadInput where the directory is no job."""

    def __init__(self, directory: str, clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self.directory = directory
        self.store: Store = open_store(directory)
        self.settings: JobSettings = read_settings(self.store, directory)
        self.seals = SealBook(self.store)
        self.log = ControlLog(self.store, clock_ms)
        self._clock_ms = clock_ms

    def newest(self) -> Seal | None:
        """The seal of the newest epoch, or None before the first."""
        return self.seals.newest()

    def assignment(self) -> Assignment:
        """Where the bins will be after the newest sealed epoch."""
        seal = self.newest()
        if seal is None:
            return Assignment.even(self.settings.bins, self.settings.slots)
        return self.seals.assignment(seal.next_assignment).assignment

    def load(self, epochs: int = 64) -> Load:
        """Work and state per bin over the last epochs; even where nothing was measured yet."""
        seal = self.newest()
        since = 0 if seal is None else max(0, seal.epoch - epochs)
        work, state = statistics.load_per_bin(self.store, self.settings.bins, since)
        if not any(work):
            work = [1] * self.settings.bins
        return Load(tuple(work), tuple(state if any(state) else work))

    def status(self) -> Status:
        """The job as it stands."""
        seal = self.newest()
        assignment = self.assignment()
        unread = self._unread(seal)
        posted = tuple(r.number for r in unread if isinstance(r.record, PlanPosted | RolledBack))
        driver = lease.is_held(self.store, lease.Holder.myself(), self._clock_ms())
        return Status(
            name=self.settings.name,
            directory=self.directory,
            running=driver and lease.query_runs(self.store) is not False,
            epoch=seal.epoch if seal else -1,
            slots=assignment.active_slots,
            bins=self.settings.bins,
            plan=seal.plan if seal else 0,
            waiting=(*(seal.waiting if seal else ()), *posted),
            remaining=self._remaining(seal, assignment),
            travelling=sum(len(s.moves) for s in (seal.leaving, seal.arriving, seal.releasing)) if seal else 0,
            paused=seal.paused if seal else False,
            steps=seal.steps_sealed if seal else 0,
            generation=lease.newest_generation(self.store),
            settled=(seal is None or seal.settled) and not posted,
            driver=driver,
            unread=len(unread),
        )

    def _remaining(self, seal: Seal | None, assignment: Assignment) -> int:
        if seal is None or not seal.plan:
            return 0
        record = self.log.migration(seal.plan)
        return len(assignment.moves_to(target_of(seal, record, self.seals.assignment)))

    def _unread(self, seal: Seal | None) -> list[Numbered]:
        return self.log.after(seal.log_read if seal else 0)

    def post_plan(self, plan: Plan, pacing: Pacing, note: str = "") -> int:
        """Post a plan; BadInput where it is infeasible or names a slot that the job cannot have."""
        if plan.target is None:
            raise BadInput(
                f"the {plan.planner} plan for {plan.slots} slots is infeasible ({plan.reason}); nothing was posted"
            )
        return self.post_target(plan.target, pacing, plan.planner, int(plan.cost), int(plan.lower_bound), note)

    def post_target(
        self, target: Assignment, pacing: Pacing, planner: str = "", cost: int = 0, bound: int = 0, note: str = ""
    ) -> int:
        """Post an assignment to reach."""
        if target.bins != self.settings.bins:
            raise BadInput(f"the plan has {target.bins} bins and the job {self.settings.bins}: a job's bins are fixed")
        worst = max(target.owner)
        if worst >= self.settings.max_slots:
            raise BadInput(
                f"there is no slot {worst}: this job has slots 0 to {self.settings.max_slots - 1} (max_slots)"
            )
        return self._post(PlanPosted(target.owner, pacing.as_dict(), planner, cost, bound, note))

    def pause(self, note: str = "") -> int:
        """No new steps from the next epoch on."""
        return self._post(Paused(note))

    def resume(self, note: str = "") -> int:
        """Steps may be sealed again."""
        return self._post(Resumed(note))

    def cancel(self, note: str = "") -> int:
        """End the plan in progress and those that wait; the step in flight completes."""
        return self._post(Cancelled(note))

    def rollback(self, pacing: Pacing, note: str = "") -> int:
        """End the plans that are in progress or wait, and go back to where the one in progress, or else the last, began.

        One record: which plan that is, the epoch decides that reads it. BadInput where nothing was ever posted to undo.
        """
        status = self.status()
        if not (status.steps or status.plan or status.waiting):
            raise BadInput(f"{self.directory} has not moved anything yet: there is nothing to roll back")
        return self._post(RolledBack(pacing.as_dict(), note))

    def _post(self, record: Record) -> int:
        return self.log.append(record)

    def history(self) -> Iterator[dict[str, object]]:
        """The records of the log and how each plan ended, oldest first."""
        newest = self.newest()
        for numbered in self.log.after(0):
            yield _story(numbered, self.seals.ending(numbered.number), newest)

    def operators(self) -> dict[str, dict[str, object]]:
        """The job's operators, as they were described when they first ran."""
        return operators(self.store)


def _story(numbered: Numbered, ended: tuple[Ending, int] | None, newest: Seal | None) -> dict[str, object]:
    record = numbered.record
    story: dict[str, object] = {
        "number": numbered.number,
        "what": type(record).__name__,
        "posted_at_ms": numbered.posted_at_ms,
        "note": record.note,
    }
    if isinstance(record, PlanPosted | RolledBack):
        story |= _plan_story(record) | _course(numbered.number, ended, newest)
    return story


def _plan_story(record: PlanPosted | RolledBack) -> dict[str, object]:
    if isinstance(record, RolledBack):
        return {"planner": "rollback", "pacing": record.pacing["name"], "cost_bytes": 0, "lower_bound_bytes": 0}
    return {
        "planner": record.planner,
        "pacing": record.pacing["name"],
        "cost_bytes": record.cost_bytes,
        "lower_bound_bytes": record.lower_bound_bytes,
    }


def _course(number: int, ended: tuple[Ending, int] | None, newest: Seal | None) -> dict[str, object]:
    if ended is None and newest is not None:
        # Its writer may have died between the seal and what is kept of it.
        ended = next(((ending, newest.epoch) for ending in newest.retired if ending.plan == number), None)
    if ended is not None:
        ending, epoch = ended
        return {"steps": ending.steps, "ended": ending.how, "ended_epoch": epoch}
    begun = newest is not None and newest.plan == number
    steps = newest.plan_steps if newest is not None and begun else 0
    return {"steps": steps, "ended": "in progress" if begun else "waiting", "ended_epoch": None}
