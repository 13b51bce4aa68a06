"""Waiting for a migration, with the story told on the way."""

from __future__ import annotations

import time
from collections.abc import Callable

from whimbrel.control.board import Board, Status
from whimbrel.model.errors import Stalled

STALLED_SECONDS = 30.0
"""How long a job may look as if it will not go on before nobody waits any longer: a query that is restarted has time."""
_LOOK_SECONDS = 0.2


def wait_until_settled(
    board: Board,
    timeout_seconds: float,
    heard: Callable[[Status], None],
    clock_seconds: Callable[[], float] = time.monotonic,
    sleep_seconds: Callable[[float], None] = time.sleep,
) -> Status:
    """Return once nothing is under way. TimeoutError says where it stands; Stalled says what it lacks to go on."""
    began = clock_seconds()
    went_on = began
    last: Status | None = None
    while True:
        status = board.status()
        if status != last:
            heard(status)
            last = status
        if status.settled:
            return status
        now, lacking = clock_seconds(), what_is_lacking(status)
        went_on = went_on if lacking else now
        if lacking and now - went_on > STALLED_SECONDS:
            raise Stalled(f"{board.directory}: {_standing(status)}, and {lacking}; what was posted stays posted")
        if now - began > timeout_seconds:
            raise TimeoutError(f"{board.directory}: after {timeout_seconds:.0f} seconds {_standing(status)}")
        sleep_seconds(_LOOK_SECONDS)


def what_is_lacking(status: Status) -> str:
    """Why a job that is not settled will not go on by itself, in words; empty where it will."""
    if not status.driver:
        return "no driver runs this job: start its query"
    if not status.running:
        return "its driver lives and its query does not run: see why the query ended, and start it again"
    if status.paused and not status.travelling and not status.unread:
        return "the job is paused: resume it"
    return ""


def _standing(status: Status) -> str:
    return f"{status.remaining} bins still wait to move (epoch {status.epoch}{', paused' if status.paused else ''})"
