"""The control log: records numbered without holes, each written once.

Two posts at the same time get two numbers: the loser of a put-if-absent takes the next one. That order is the
serial order in which plans are carried out.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.control.records import Numbered, Record, decode_record, encode_record
from whimbrel.control.stores import Store
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

    def after(self, number: int) -> list[Numbered]:
        """The records with a greater number, in order, up to the first hole (a post that is under way)."""
        found = []
        while (data := self._store.get(_name(number + 1))) is not None:
            number += 1
            where = _name(number)
            found.append(decode_record(number, open_frame("record", data, where), where))
        return found


def _name(number: int) -> str:
    return f"{FOLDER}/{number:010d}.rec"
