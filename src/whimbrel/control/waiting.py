"""Waiting for a migration, with the story told on the way."""

from __future__ import annotations

import time
from collections.abc import Callable

from whimbrel.control.board import Board, Status

_LOOK_SECONDS = 0.2


def wait_until_settled(
    board: Board,
    timeout_seconds: float,
    heard: Callable[[Status], None],
    clock_seconds: Callable[[], float] = time.monotonic,
    sleep_seconds: Callable[[float], None] = time.sleep,
) -> Status:
    """Return once nothing is under way; TimeoutError says where it stands."""
    deadline = clock_seconds() + timeout_seconds
    last: Status | None = None
    while True:
        status = board.status()
        if status != last:
            heard(status)
            last = status
        if status.settled:
            return status
        if clock_seconds() > deadline:
            raise TimeoutError(
                f"{board.directory}: after {timeout_seconds:.0f} seconds {status.remaining} bins still wait to move "
                f"(epoch {status.epoch}{', paused' if status.paused else ''}{'' if status.running else ', no driver runs'})"
            )
        sleep_seconds(_LOOK_SECONDS)
