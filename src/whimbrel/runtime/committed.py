"""The newest epoch that Spark has committed: the only one whose state may be read while the query goes on.

The newest seal is no substitute. It may belong to an epoch that is still running, or to one that was interrupted. And an
epoch has no seal at all where only sources drove it that feed none of the job's operators: then the one before it holds.
"""

from __future__ import annotations

from whimbrel.control.board import Board
from whimbrel.control.seal import Seal
from whimbrel.control.stores import Store, open_store
from whimbrel.model.errors import BadInput, Damaged


def committed_seal(board: Board, checkpoint: str) -> Seal:
    """The seal in force in the newest epoch of Spark's commit log; BadInput where nothing was committed yet."""
    return seal_as_of(board, committed_epoch(checkpoint))


def seal_as_of(board: Board, epoch: int) -> Seal:
    """The seal in force in a committed epoch; Damaged where there is none."""
    seal = board.seals.in_force(epoch)
    if seal is None:
        raise Damaged(
            f"{board.directory}: epoch {epoch} is committed and has no seal; restore the control folder of the job"
        )
    return seal


def committed_epoch(checkpoint: str) -> int:
    """The newest epoch in Spark's commit log; BadInput where there is none."""
    epoch = _newest(open_store(checkpoint), "commits")
    if epoch < 0:
        raise BadInput(f"{checkpoint} has no committed epoch yet: start its query and let one epoch end")
    return epoch


def newest_with_state(board: Board, checkpoint: str) -> int:
    """The newest epoch that may have left state behind, -1 where none has.

    A query whose checkpoint lies elsewhere is judged by its seals: an epoch that was begun counts.
    """
    store = open_store(checkpoint)
    if store.names("offsets"):
        return _newest(store, "commits")
    seal = board.newest()
    return -1 if seal is None else seal.epoch


def _newest(store: Store, folder: str) -> int:
    return max((int(name) for name in store.names(folder) if name.isdigit()), default=-1)
