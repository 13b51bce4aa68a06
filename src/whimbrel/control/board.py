"""What anybody may see of a job and post to it, from any terminal: no Spark, no lease, just the directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from whimbrel.control import lease, statistics
from whimbrel.control.log import ControlLog
from whimbrel.control.records import Cancelled, Paused, PlanPosted, Record, Resumed
from whimbrel.control.seal import Seal
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
    """A job at one moment. ``remaining`` counts the bins that the plan in progress still has to seal."""

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
        posted = tuple(
            r.number for r in self.log.after(seal.log_read if seal else 0) if isinstance(r.record, PlanPosted)
        )
        return Status(
            name=self.settings.name,
            directory=self.directory,
            running=lease.is_held(self.store, lease.Holder.myself(), self._clock_ms()),
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
        )

    def _remaining(self, seal: Seal | None, assignment: Assignment) -> int:
        if seal is None or not seal.plan:
            return 0
        return len(assignment.moves_to(Assignment(self._plan(seal.plan).target)))

    def _plan(self, number: int) -> PlanPosted:
        record = self.log.after(number - 1)[0].record
        assert isinstance(record, PlanPosted), f"record {number} is named as a plan by a seal"
        return record

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

    def rollback(self, pacing: Pacing, note: str = "rollback") -> int:
        """Cancel, and go back to the assignment in force before the plan in progress, or else the last one, began."""
        seal = self.newest()
        if seal is None or not seal.steps_sealed:
            raise BadInput(f"{self.directory} has not moved anything yet: there is nothing to roll back")
        previous = self.seals.assignment(seal.plan_began_at).assignment
        if seal.plan or seal.waiting:
            self.cancel(note)
        return self.post_target(previous, pacing, planner="rollback", note=note)

    def _post(self, record: Record) -> int:
        return self.log.append(record)

    def history(self) -> Iterator[dict[str, object]]:
        """The records of the log and how each plan ended, oldest first."""
        ended: dict[int, tuple[str, int]] = {}
        moved: dict[int, list[int]] = {}
        for epoch in self.seals.epochs():
            seal = self.seals.read(epoch)
            if seal is None:
                continue
            ended.update({number: (how, epoch) for number, how in seal.retired})
            if seal.leaving.moves:
                moved.setdefault(seal.plan, []).append(epoch)
        for numbered in self.log.after(0):
            yield _story(numbered.number, numbered.record, numbered.posted_at_ms, ended, moved)

    def operators(self) -> dict[str, dict[str, object]]:
        """The job's operators, as they were described when they first ran."""
        return operators(self.store)


def _story(
    number: int, record: Record, posted_at_ms: int, ended: dict[int, tuple[str, int]], moved: dict[int, list[int]]
) -> dict[str, object]:
    story: dict[str, object] = {
        "number": number,
        "what": type(record).__name__,
        "posted_at_ms": posted_at_ms,
        "note": record.note,
    }
    if isinstance(record, PlanPosted):
        how, epoch = ended.get(number, ("in progress" if number in moved else "waiting", None))
        story |= {
            "planner": record.planner,
            "pacing": record.pacing["name"],
            "cost_bytes": record.cost_bytes,
            "lower_bound_bytes": record.lower_bound_bytes,
            "steps": len(moved.get(number, [])),
            "ended": how,
            "ended_epoch": epoch,
        }
    return story
