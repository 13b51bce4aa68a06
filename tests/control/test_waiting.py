"""Waiting ends when the migration has, when the time is over, and when the job cannot go on by itself."""

from dataclasses import replace

import pytest

from whimbrel.control import lease, waiting
from whimbrel.control.board import Board
from whimbrel.control.settings import JobSettings, fix_settings
from whimbrel.control.stores import open_store
from whimbrel.migration import Pacing
from whimbrel.model import Assignment, Stalled


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds

    def sleep(self, seconds):
        self.seconds += seconds


@pytest.fixture
def board(tmp_path):
    place = str(tmp_path / "job")
    fix_settings(open_store(place), JobSettings("job", bins=16, max_slots=4, slots=2), place)
    return Board(place)


def wait(board, timeout_seconds=600.0):
    clock = Clock()
    try:
        return waiting.wait_until_settled(board, timeout_seconds, lambda _: None, clock, clock.sleep), clock.seconds
    except (Stalled, TimeoutError) as error:
        return error, clock.seconds


def test_a_job_without_a_driver_is_not_waited_for_long(board):
    board.post_target(Assignment.even(16, 3), Pacing.of("fluid"))
    told, seconds = wait(board)
    assert isinstance(told, Stalled) and "no driver runs this job: start its query" in str(told)
    assert waiting.STALLED_SECONDS < seconds < waiting.STALLED_SECONDS + 1


def test_a_shorter_time_is_kept(board):
    board.post_target(Assignment.even(16, 3), Pacing.of("fluid"))
    told, seconds = wait(board, 5)
    assert isinstance(told, TimeoutError) and seconds < 6


def test_a_settled_job_is_not_waited_for(board):
    assert wait(board)[1] == 0


def test_a_living_driver_without_a_query_is_told_apart_from_a_running_job(board):
    held = lease.acquire(board.store, board.directory, lease.Holder.myself(), board._clock_ms)
    try:
        assert board.status().running and board.status().driver, "a driver that has not said is taken at its best"
        lease._write_beat(board.store, held.generation, board._clock_ms(), False)
        status = board.status()
        assert status.driver and not status.running
        assert "its query does not run" in waiting.what_is_lacking(status)
    finally:
        held.release()


def test_a_paused_job_lacks_a_resume_once_nothing_travels_and_every_record_is_read(board):
    held = replace(board.status(), driver=True, running=True, paused=True, settled=False)
    assert waiting.what_is_lacking(held) == "the job is paused: resume it"
    assert waiting.what_is_lacking(replace(held, travelling=2)) == ""
    assert waiting.what_is_lacking(replace(held, unread=1)) == ""
