"""Whether everything that a job keeps beside Spark's checkpoint is whole and tells one story. Reads, changes nothing.

The story: each seal goes on from the map at which the one before it ended, each map is what its seal's moves make of the
map before, and the bytes of every bin under way lie in the transfers under their own digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from whimbrel.control import lease
from whimbrel.control.board import Board
from whimbrel.control.seal import Seal
from whimbrel.control.transfers import get_transfer
from whimbrel.model.errors import WhimbrelError


def control_faults(board: Board, committed: Seal) -> list[str]:
    """One line per object that is damaged, missing, or contradicts another; for the state as of ``committed``."""
    faults: list[str] = []
    _look(faults, lambda: [board.seals.ending(posted.number) for posted in board.log.after(0)])
    _look(faults, lambda: lease.check_newest(board.store))
    _look(faults, board.operators)
    seals = []
    for epoch in board.seals.epochs():
        seal = _look(faults, lambda epoch=epoch: board.seals.read(epoch))  # type: ignore[misc]
        if seal is not None and seal.epoch <= committed.epoch:
            seals.append(seal)
    faults += _breaks(seals)
    _look(faults, lambda: faults.extend(_map_faults(board, committed)))
    return faults


def transfer_faults(board: Board, committed: Seal, operators: Iterable[str]) -> list[str]:
    """One line per transfer that the epoch after ``committed`` will want and that is damaged, missing or there twice."""
    faults: list[str] = []
    for operator in operators:
        for pair in sorted({(move.source, move.target) for move in committed.leaving.moves}):
            _look(faults, lambda o=operator, p=pair: get_transfer(board.store, o, committed.leaving.number, *p))  # type: ignore[misc]
    return faults


def _breaks(seals: Sequence[Seal]) -> Iterator[str]:
    for before, after in pairwise(seals):
        if before.epoch + 1 == after.epoch and before.next_assignment != after.assignment:
            yield (
                f"the seal of epoch {after.epoch} routes by {after.assignment}, and epoch {before.epoch} led to "
                f"{before.next_assignment}; restore the control folder of the job"
            )


def _look(faults: list[str], read: Callable[[], Any]) -> Any:
    try:
        return read()
    except WhimbrelError as error:
        faults.append(str(error))
        return None


def _map_faults(board: Board, seal: Seal) -> Iterator[str]:
    now, upcoming = board.seals.assignment(seal.assignment), board.seals.assignment(seal.next_assignment)
    if now.after(seal.leaving) != upcoming:
        yield (
            f"the map {seal.next_assignment} is not what the moves of epoch {seal.epoch} make of {seal.assignment}; "
            "restore the control folder of the job"
        )
