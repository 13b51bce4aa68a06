"""Where a task finds its job: plain data that crosses to the workers with the functions.

The objects behind it (store, seal book) are made once per worker process and kept.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from whimbrel.control import deciding, lease
from whimbrel.control.log import ControlLog
from whimbrel.control.records import PlanPosted
from whimbrel.control.seal import Seal
from whimbrel.control.seals import SealBook
from whimbrel.control.settings import JobSettings
from whimbrel.control.stamped import StampedAssignment
from whimbrel.control.statistics import recent_facts
from whimbrel.control.stores import Store, open_store
from whimbrel.model.assignment import Assignment
from whimbrel.model.errors import Damaged, JobInUse


def now_ms() -> int:
    """The wall clock of this process."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class JobPlace:
    """A job as its tasks know it: directory, fixed settings, and the generation of the driver that sent them."""

    directory: str
    settings: JobSettings
    generation: int

    @property
    def store(self) -> Store:
        """The job's object store."""
        return _store(self.directory)

    @property
    def seals(self) -> SealBook:
        """The job's book of seals."""
        return _seals(self.directory)

    def initial(self) -> StampedAssignment:
        """The map of the first epoch: even and contiguous."""
        return StampedAssignment.initial(Assignment.even(self.settings.bins, self.settings.slots))

    def seal(self, epoch: int, query_id: str) -> Seal:
        """The seal of an epoch, made now if no task has made it. Checks the fence and the query first."""
        lease.check_fence(self.store, self.generation)
        sealed = self.seals.seal(
            epoch, deciding.genesis(self.initial()), lambda previous: self._decide(epoch, previous, query_id)
        )
        if sealed.query_id != query_id:
            raise JobInUse(
                f"{self.directory} belongs to the query with id {sealed.query_id}, and this one has id {query_id}: "
                "start it with the checkpoint of the job (job.checkpoint), or use another directory"
            )
        return sealed

    def _decide(self, epoch: int, previous: Seal, query_id: str) -> tuple[Seal, StampedAssignment]:
        if previous.epoch < 0:
            self.seals.write_assignment(self.initial())
        log = ControlLog(self.store, now_ms)
        around = deciding.Surroundings(
            stamped=self.seals.assignment,
            record=lambda number: _plan(log, number),
            facts=lambda: recent_facts(self.store, self.seals, epoch),
        )
        seal, upcoming = deciding.decide(epoch, previous, log.after(previous.log_read), around)
        return seal.stamped(self.generation, query_id, now_ms()), upcoming


def _plan(log: ControlLog, number: int) -> PlanPosted:
    record = log.after(number - 1)[0].record
    if not isinstance(record, PlanPosted):
        raise Damaged(f"control/log record {number} is no plan, but a seal names it as one; restore the control folder")
    return record


@lru_cache(maxsize=16)
def _store(directory: str) -> Store:
    return open_store(directory)


@lru_cache(maxsize=16)
def _seals(directory: str) -> SealBook:
    return SealBook(_store(directory))
