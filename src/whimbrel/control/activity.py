"""Whether a job wants an epoch though no row has come."""

from __future__ import annotations

from whimbrel.control.log import ControlLog
from whimbrel.control.seal import Seal
from whimbrel.control.stores import Store
from whimbrel.model.errors import Damaged
from whimbrel.state.frames import open_frame, seal_frame

ROWS_MARK = "control/last-epoch-with-rows"
_EPOCHS_AFTER_ROWS = 2
"""Spark computes a watermark after an epoch and uses it in the next; one more lets chained operators follow."""


def is_under_way(store: Store, newest: Seal) -> bool:
    """Whether records wait to be read, or the newest seal itself wants an epoch."""
    return newest.wants_epoch or ControlLog(store, lambda: 0).holds(newest.log_read + 1)


def mark_rows(store: Store, epoch: int) -> None:
    """Remember that this epoch had rows."""
    store.replace(ROWS_MARK, seal_frame("mark", str(epoch).encode()))


def epochs_after_rows(store: Store, newest: Seal) -> bool:
    """Whether the epochs that follow the last rows are still owed; not where their mark is missing or damaged."""
    try:
        mark = int(open_frame("mark", store.get(ROWS_MARK) or b"", ROWS_MARK))
    except Damaged:
        return False
    return newest.epoch < mark + _EPOCHS_AFTER_ROWS
