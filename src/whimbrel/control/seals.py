"""The book of seals: one per epoch, and the stamped assignments that they name.

Invariant: a seal's ``assignment`` is the ``next_assignment`` of the seal before it, so the maps form a chain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from whimbrel.control import faults
from whimbrel.control.seal import Seal, decode_seal, encode_seal
from whimbrel.control.stamped import StampedAssignment
from whimbrel.control.stores import Store
from whimbrel.model.errors import Damaged
from whimbrel.model.faults import SEAL_DECIDED, SEAL_WRITTEN
from whimbrel.state.frames import digest, open_frame, seal_frame

SEALS = "control/seals"
ASSIGNMENTS = "control/assignments"
SEALS_KEPT = 1000
"""Spark replays the last epoch only; the others are history for people."""

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

    def seal(self, epoch: int, genesis: Seal, decide: Decision) -> Seal:
        """The seal of an epoch: the one that exists, or else the one that ``decide`` makes from the seal before."""
        existing = self.read(epoch)
        if existing is not None:
            return existing
        previous = (self.read(epoch - 1) or self.newest(before=epoch)) or genesis
        decided, upcoming = decide(previous)
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
        return written

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
