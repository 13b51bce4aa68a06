"""The book of seals: one per epoch, and the stamped assignments that they name.

Invariant: a seal's ``assignment`` is the ``next_assignment`` of the seal before it, so the maps form a chain.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache

from whimbrel.control import faults
from whimbrel.control.seal import Ending, Seal, decode_seal, encode_seal
from whimbrel.control.stamped import StampedAssignment
from whimbrel.control.stores import Store
from whimbrel.model.errors import Damaged, JobInUse
from whimbrel.model.faults import SEAL_DECIDED, SEAL_WRITTEN
from whimbrel.state.frames import digest, open_frame, seal_frame

SEALS = "control/seals"
ASSIGNMENTS = "control/assignments"
ENDED = "control/ended"
SEALS_KEPT = 1000
"""Spark replays the last epoch only; the others are for people who look into a failure."""

Decision = Callable[[Seal], tuple[Seal, StampedAssignment]]


class SealBook:
    """Reads and writes the seals of one job."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._assignment = lru_cache(maxsize=64)(self._read_assignment)

    def read(self, epoch: int) -> Seal | None:
        """The seal of an epoch, or None where it is not sealed."""
        name = f"{SEALS}/{epoch:010d}.seal"
        data = self._store.get(name)
        return None if data is None else decode_seal(open_frame("seal", data, name))

    def newest(self, before: int | None = None) -> Seal | None:
        """The newest seal, of all or of those before an epoch."""
        epochs = self.epochs()
        if before is not None:
            epochs = [epoch for epoch in epochs if epoch < before]
        return self.read(epochs[-1]) if epochs else None

    def epochs(self) -> list[int]:
        """The sealed epochs that are still kept, ascending."""
        return [int(name.removesuffix(".seal")) for name in self._store.names(SEALS) if name.endswith(".seal")]

    def in_force(self, epoch: int) -> Seal | None:
        """The seal of an epoch, or where only foreign sources drove that epoch, the newest before it."""
        return self.read(epoch) or self.newest(before=epoch)

    def seal(self, epoch: int, genesis: Seal, decide: Decision) -> Seal:
        """The seal of an epoch: the one that exists, or else the one that ``decide`` makes from the seal before."""
        existing = self.read(epoch)
        if existing is not None:
            # Whoever wrote it may have died before the endings were kept.
            self._keep_endings(existing)
            return existing
        decided, upcoming = decide(self.read(epoch - 1) or self.newest(before=epoch) or self._begin(epoch, genesis))
        faults.reached(SEAL_DECIDED, epoch)
        self.write_assignment(upcoming)
        self._store.put_if_absent(f"{SEALS}/{epoch:010d}.seal", seal_frame("seal", encode_seal(decided)))
        faults.reached(SEAL_WRITTEN, epoch)
        self._store.remove(f"{SEALS}/{epoch - SEALS_KEPT:010d}.seal")
        written = self.read(epoch)
        if written is None:
            raise Damaged(
                f"{SEALS}/{epoch:010d}.seal: the seal vanished after it was written; is the directory shared?"
            )
        self._keep_endings(written)
        return written

    def ending(self, plan: int) -> tuple[Ending, int] | None:
        """How a plan ended and in which epoch; None where it has not. Kept for the life of the job."""
        name = _ending_name(plan)
        data = self._store.get(name)
        if data is None:
            return None
        fields = json.loads(open_frame("ended", data, name))
        epoch = int(fields.pop("epoch"))
        return Ending(**fields), epoch

    def _begin(self, epoch: int, genesis: Seal) -> Seal:
        newer = [sealed for sealed in self.epochs() if sealed > epoch]
        if newer:
            raise JobInUse(
                f"this job has sealed epochs {newer[0]} to {newer[-1]}, and this query begins at epoch {epoch}: its checkpoint "
                "is new, or one was lost; start it with the checkpoint of the job (job.checkpoint), restore that, or use "
                "another job directory"
            )
        return genesis

    def _keep_endings(self, seal: Seal) -> None:
        for ending in seal.retired:
            name, fields = _ending_name(ending.plan), asdict(ending) | {"epoch": seal.epoch}
            if self._store.get(name) is None:
                self._store.put_if_absent(name, seal_frame("ended", json.dumps(fields).encode()))

    def write_assignment(self, stamped: StampedAssignment) -> str:
        """Keep a stamped assignment under its digest, and return that."""
        data = stamped.encode()
        name, frame = digest(data), seal_frame("assignment", data)
        path = f"{ASSIGNMENTS}/{name}.map"
        # Most epochs keep their assignment: reading it again is cheaper than a durable write that is refused.
        if self._store.get(path) != frame:
            self._store.put_if_absent(path, frame)
        return name

    def assignment(self, name: str) -> StampedAssignment:
        """The stamped assignment with this digest; Damaged where it is missing or does not match its name."""
        return self._assignment(name)

    def _read_assignment(self, name: str) -> StampedAssignment:
        path = f"{ASSIGNMENTS}/{name}.map"
        data = self._store.get(path)
        if data is None:
            raise Damaged(f"{path}: the assignment that a seal names is missing; restore the control folder of the job")
        content = open_frame("assignment", data, path)
        if digest(content) != name:
            raise Damaged(f"{path}: the content does not match its name; restore the control folder of the job")
        return StampedAssignment.decode(content)


def _ending_name(plan: int) -> str:
    return f"{ENDED}/{plan:010d}.end"
