"""The control log: records numbered without holes, each written once.

Two posts at the same time get two numbers: the loser of a put-if-absent takes the next one. That order is the
serial order in which plans are carried out.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.control.records import Migration, Numbered, PlanPosted, Record, RolledBack, decode_record, encode_record
from whimbrel.control.stores import Store
from whimbrel.model.errors import Damaged
from whimbrel.state.frames import open_frame, seal_frame

FOLDER = "control/log"


class ControlLog:
    """Append and read; ``clock_ms`` gives the time that is written into a record."""

    def __init__(self, store: Store, clock_ms: Callable[[], int]) -> None:
        self._store = store
        self._clock_ms = clock_ms

    def append(self, record: Record) -> int:
        """Post a record and return its number."""
        data = seal_frame("record", encode_record(record, self._clock_ms()))
        number = self.last() + 1
        while not self._store.put_if_absent(_name(number), data):
            number += 1
        return number

    def last(self) -> int:
        """The number of the newest record; 0 where nothing was posted."""
        names = self._store.names(FOLDER)
        return int(names[-1].removesuffix(".rec")) if names else 0

    def holds(self, number: int) -> bool:
        """Whether this record was posted. One look at one name, however long the log."""
        return self._store.get(_name(number)) is not None

    def after(self, number: int) -> list[Numbered]:
        """The records with a greater number, in order, up to the first hole (a post that is under way)."""
        found = []
        while (numbered := self._read(number + 1)) is not None:
            found.append(numbered)
            number += 1
        return found

    def migration(self, number: int) -> Migration:
        """The plan or rollback with this number, as a seal names it; Damaged where the log holds something else."""
        found = self._read(number)
        if found is None or not isinstance(found.record, PlanPosted | RolledBack):
            raise Damaged(f"{_name(number)}: a seal names it as a plan and it is none; restore the control folder")
        return found.record

    def _read(self, number: int) -> Numbered | None:
        where = _name(number)
        data = self._store.get(where)
        return None if data is None else decode_record(number, open_frame("record", data, where), where)


def _name(number: int) -> str:
    return f"{FOLDER}/{number:010d}.rec"
