"""One live driver per job."""

import os
import subprocess
import sys
import time

import pytest

from whimbrel.control import lease
from whimbrel.control.stores import LocalStore, MemoryStore
from whimbrel.model.errors import JobInUse, StaleDriver

HERE = lease.Holder("here", 1, "boot")
ELSEWHERE = lease.Holder("elsewhere", 2, "boot")


class Clock:
    def __init__(self):
        self.ms = 1_000_000

    def __call__(self):
        return self.ms


def test_a_second_driver_is_refused_while_the_first_may_live():
    store, clock = MemoryStore(), Clock()
    held = lease.acquire(store, "job", ELSEWHERE, clock)
    with pytest.raises(JobInUse, match="elsewhere"):
        lease.acquire(store, "job", HERE, clock)
    held.release()
    assert lease.acquire(store, "job", HERE, clock).generation == 2


def test_a_silent_holder_loses_its_lease_and_is_stale_from_then_on():
    store, clock = MemoryStore(), Clock()
    held = lease.acquire(store, "job", ELSEWHERE, clock)
    clock.ms += int(lease.EXPIRES_SECONDS * 1000) + 1
    lease._write_beat(store, 1, 1_000_000)
    newer = lease.acquire(store, "job", HERE, clock)
    lease.check_fence(store, newer.generation)
    with pytest.raises(StaleDriver, match="generation 2 has taken over"):
        lease.check_fence(store, held.generation)


def test_a_dead_process_of_this_machine_is_replaced_at_once(tmp_path):
    store = LocalStore(tmp_path)
    code = (
        "import sys; from whimbrel.control import lease; from whimbrel.control.stores import LocalStore; from pathlib import Path\n"
        "import os, time; lease.acquire(LocalStore(Path(sys.argv[1])), 'job', lease.Holder.myself(), lambda: time.time_ns() // 10**6)\n"
        "os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)

    held = lease.acquire(store, "job", lease.Holder.myself(), lambda: time.time_ns() // 10**6)
    assert held.generation == 2


def test_the_living_process_is_not_taken_for_dead():
    me = lease.Holder.myself()
    assert me.pid == os.getpid()
    assert not me.is_surely_dead(me)


def test_a_process_number_of_another_container_says_nothing():
    gone = 2**22 + 1
    me = lease.Holder.myself()
    assert lease.Holder(me.host, gone, me.boot_id, me.pid_namespace).is_surely_dead(me)
    assert not lease.Holder(me.host, gone, me.boot_id, "pid:[1]").is_surely_dead(me)


def test_the_heartbeat_passes_on_whether_a_query_runs(monkeypatch):
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.01)
    store, answers = MemoryStore(), [True]
    held = lease.acquire(store, "job", HERE, Clock())
    held.look = lambda: answers[0]
    until(lambda: lease.query_runs(store) is True)
    answers[0] = False
    until(lambda: lease.query_runs(store) is False)
    held.look = lambda: 1 / 0
    until(lambda: lease.query_runs(store) is None)
    held.release()


def until(reached):
    deadline = time.monotonic() + 5
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.005)
