"""A job without data: what is posted to it is sealed epoch by epoch, as the tasks of a running query would.

For whoever steers jobs (a pacing, an autoscaler, a script) and wants to see what becomes of a post without Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.control import deciding
from whimbrel.control.log import ControlLog
from whimbrel.control.records import Numbered, PlanPosted, Record
from whimbrel.control.seal import Seal
from whimbrel.control.seals import SealBook
from whimbrel.control.stamped import StampedAssignment
from whimbrel.control.stores import MemoryStore, Store
from whimbrel.model import Assignment


class SealChain:
    """Begins with ``slots`` even slots. ``facts`` are the measured epochs (``EpochFact``) that ``budget`` will see."""

    def __init__(self, bins: int = 32, slots: int = 2, store: Store | None = None) -> None:
        self.store: Store = MemoryStore() if store is None else store
        self.book = SealBook(self.store)
        self.log = ControlLog(self.store, lambda: 0)
        self.initial = StampedAssignment.initial(Assignment.even(bins, slots))
        self.epoch = -1
        self.facts: list[Any] = []
        self.book.write_assignment(self.initial)

    def post(self, target: Assignment, pacing: Mapping[str, Any]) -> int:
        """Post a plan with a pacing's settings (``Pacing.as_dict``); its number."""
        return self.append(PlanPosted(target.owner, dict(pacing)))

    def append(self, record: Record) -> int:
        """Post anything; its number."""
        return self.log.append(record)

    def seal(self) -> Seal:
        """The next epoch."""
        sealed = self.replay(self.epoch + 1)
        self.epoch = sealed.epoch
        return sealed

    def replay(self, epoch: int) -> Seal:
        """An epoch once more, as after a crash: the seal that exists, or else a new one."""
        return self.book.seal(epoch, deciding.genesis(self.initial), lambda before: self._decide(epoch, before))

    def seal_until_settled(self, epochs_max: int = 200) -> list[Seal]:
        """Epochs until nothing is under way; AssertionError where that takes longer than ``epochs_max``."""
        seals: list[Seal] = []
        while not seals or not seals[-1].settled:
            assert len(seals) < epochs_max, f"still under way after {epochs_max} epochs: {seals[-1]}"
            seals.append(self.seal())
        return seals

    def map_after(self, seal: Seal) -> Assignment:
        """The assignment that a seal leads to."""
        return self.book.assignment(seal.next_assignment).assignment

    def _decide(self, epoch: int, previous: Seal) -> tuple[Seal, StampedAssignment]:
        around = deciding.Surroundings(self.book.assignment, self.log.migration, lambda: self.facts)
        return deciding.decide(epoch, previous, self._new_records(previous), around)

    def _new_records(self, previous: Seal) -> list[Numbered]:
        return self.log.after(previous.log_read)
