"""Where a task finds its job: plain data that crosses to the workers with the functions.

The objects behind it (store, seal book) are made once per worker process and kept.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from whimbrel.control import deciding, lease
from whimbrel.control.log import ControlLog
from whimbrel.control.seal import Seal
from whimbrel.control.seals import SealBook
from whimbrel.control.settings import JobSettings
from whimbrel.control.stamped import StampedAssignment
from whimbrel.control.statistics import recent_facts
from whimbrel.control.stores import Store, open_store
from whimbrel.model.assignment import Assignment
from whimbrel.model.errors import JobInUse, JobMismatch


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
        return store_of(self.directory)

    @property
    def seals(self) -> SealBook:
        """The job's book of seals."""
        return seals_of(self.directory)

    def initial(self) -> StampedAssignment:
        """The map of the first epoch: even and contiguous."""
        return StampedAssignment.initial(Assignment.even(self.settings.bins, self.settings.slots))

    def seal(self, epoch: int, query_id: str) -> Seal:
        """The seal of an epoch, made now if no task has made it. Checks the fence and the query first."""
        lease.check_fence(self.store, self.generation)
        sealed = self.seals.seal(
            epoch, deciding.genesis(self.initial()), lambda previous: self._decide(epoch, previous, query_id)
        )
        self._check_query(sealed, query_id)
        return sealed

    def _check_query(self, seal: Seal, query_id: str) -> None:
        # Of the seal that is there, or of the one before the seal that is made: so all seals of a job are one query's.
        if seal.query_id != query_id:
            raise JobInUse(
                f"{self.directory} belongs to the query with id {seal.query_id}, and this one has id {query_id}: "
                "start it with the checkpoint of the job (job.checkpoint), or use another directory"
            )

    def check_partitions(self, partitions: int | None) -> None:
        """Raise JobMismatch where the query has another number of state partitions than the job has slots.

        A session has one such setting for all its queries. Asked before anything of an epoch is sealed or committed.
        """
        if partitions is not None and partitions != self.settings.max_slots:
            raise JobMismatch(
                f"this query of {self.directory} has {partitions} shuffle partitions, and the job's max_slots is "
                f"{self.settings.max_slots}: another job or setting of this session came between. Nothing was committed; start "
                "the query with job.writer(...), and delete its checkpoint first if this was its very first epoch"
            )

    def _decide(self, epoch: int, previous: Seal, query_id: str) -> tuple[Seal, StampedAssignment]:
        if previous.epoch < 0:
            self.seals.write_assignment(self.initial())
        else:
            self._check_query(previous, query_id)
        log = ControlLog(self.store, now_ms)
        around = deciding.Surroundings(
            stamped=self.seals.assignment,
            record=log.migration,
            facts=lambda: recent_facts(self.store, self.seals, epoch),
        )
        seal, upcoming = deciding.decide(epoch, previous, log.after(previous.log_read), around)
        return seal.stamped(self.generation, query_id, now_ms()), upcoming


@lru_cache(maxsize=16)
def store_of(directory: str) -> Store:
    """A job's object store, one per process."""
    return open_store(directory)


@lru_cache(maxsize=16)
def seals_of(directory: str) -> SealBook:
    """A job's book of seals, one per process."""
    return SealBook(store_of(directory))
