"""The fence: one live driver per job, by a lease with a generation.

A driver takes the next generation by put-if-absent and then renews a heartbeat. Every router task looks for a
generation above its own and stops with StaleDriver when it finds one, so a driver that was paused and comes back
cannot start another epoch. An epoch that it had already started is the one that its successor repeats, under the same
seal and over the same offsets: whoever of the two commits it, commits the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from whimbrel.control.stores import Store
from whimbrel.model.errors import Damaged, JobInUse, StaleDriver
from whimbrel.state.frames import open_frame, seal_frame

FOLDER = "control/lease"
BEAT_SECONDS = 2.0
EXPIRES_SECONDS = 15.0
"""A holder that has not renewed for this long is taken for dead."""
_LOOKS, _LOOK_SECONDS = 5, 0.02


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a generation. ``boot_id`` tells a rebooted machine from the one the holder ran on, ``pid_namespace`` one
    container from another: a process number says nothing outside its own."""

    host: str
    pid: int
    boot_id: str
    pid_namespace: str = ""

    @staticmethod
    def myself() -> Holder:
        """This process."""
        boot = Path("/proc/sys/kernel/random/boot_id")
        boot_id = boot.read_text().strip() if boot.exists() else ""
        return Holder(socket.gethostname(), os.getpid(), boot_id, _pid_namespace())

    def is_surely_dead(self, here: Holder) -> bool:
        """Whether the holder ran on this machine and does not run any more. False where we cannot know."""
        if self.host != here.host:
            return False
        if self.boot_id != here.boot_id:
            return True
        if self.pid_namespace != here.pid_namespace:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return _is_defunct(self.pid)


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _is_defunct(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except (FileNotFoundError, IndexError):
        return False


class Lease:
    """A held lease: ``generation`` is ours until a newer one appears.

    ``look`` tells whether a query of the job runs in this process, None where that is unknown; the heartbeat passes it on.
    A look may take long, so it has a thread of its own: the heartbeat never waits for it.
    """

    def __init__(self, store: Store, generation: int, clock_ms: Callable[[], int]) -> None:
        self.generation = generation
        self._store = store
        self._clock_ms = clock_ms
        self._stopped = threading.Event()
        self.look: Callable[[], bool | None] = lambda: None
        self._query_runs: bool | None = None
        self._beat()
        for work, what in ((self._renew, "lease"), (self._look_after_query, "query")):
            threading.Thread(target=work, name=f"whimbrel-{what}-{generation}", daemon=True).start()

    def release(self) -> None:
        """Give the lease back, so that the next driver need not wait. Idempotent."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._store.replace(f"{FOLDER}/{self.generation:010d}.end", seal_frame("end", b""))

    def _renew(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            # A failed beat is not fatal: the lease lives for several of them.
            with contextlib.suppress(OSError):
                self._beat()

    def _look_after_query(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            before = self._query_runs
            try:
                self._query_runs = self.look()
            except Exception:  # Spark's session may have been stopped, or its server be out of reach.
                self._query_runs = None
            if self._query_runs != before:
                with contextlib.suppress(OSError):
                    self._beat()

    def _beat(self) -> None:
        _write_beat(self._store, self.generation, self._clock_ms(), self._query_runs)


def acquire(store: Store, directory: str, here: Holder, clock_ms: Callable[[], int]) -> Lease:
    """Take the job's lease; JobInUse where another driver holds it and may still be alive."""
    newest = newest_generation(store)
    if newest and not _is_over(store, newest, here, clock_ms()):
        holder, _ = _claim(store, newest)
        raise JobInUse(
            f"{directory} is in use by the driver with process {holder.pid} on {holder.host}; "
            f"stop that query, or wait {EXPIRES_SECONDS:.0f} seconds after it died"
        )
    claim = seal_frame("lease", json.dumps(asdict(here) | {"taken_at_ms": clock_ms()}).encode())
    if not store.put_if_absent(_claim_name(newest + 1), claim):
        raise JobInUse(f"{directory} was taken by another driver at this very moment; try again")
    return Lease(store, newest + 1, clock_ms)


def newest_generation(store: Store) -> int:
    """The generation of the live driver; 0 where there was none."""
    claims = [name for name in store.names(FOLDER) if name.endswith(".lease")]
    return int(claims[-1].removesuffix(".lease")) if claims else 0


def check_fence(store: Store, generation: int) -> None:
    """Raise StaleDriver where a newer generation exists."""
    newest = newest_generation(store)
    if newest > generation:
        raise StaleDriver(
            f"this driver holds generation {generation} of the job and generation {newest} has taken over; "
            "stop this query: the newer driver carries on"
        )


def is_held(store: Store, here: Holder, now_ms: int) -> bool:
    """Whether a driver that may be alive holds the lease: is the job running?"""
    newest = newest_generation(store)
    return bool(newest) and not _is_over(store, newest, here, now_ms)


def query_runs(store: Store) -> bool | None:
    """What the newest driver last said of its query: whether one runs; None where it did not know or has not said."""
    name = _beat_name(newest_generation(store))
    with contextlib.suppress(Damaged):
        return _Beat.decode(open_frame("beat", store.get(name) or b"", name)).query_runs
    return None


def _claim_name(generation: int) -> str:
    return f"{FOLDER}/{generation:010d}.lease"


def check_newest(store: Store) -> None:
    """Raise Damaged where the newest claim is not whole."""
    newest = newest_generation(store)
    if newest:
        _claim(store, newest)


def _claim(store: Store, generation: int) -> tuple[Holder, int]:
    """Who claimed the generation, and when."""
    name = _claim_name(generation)
    fields = json.loads(open_frame("lease", store.get(name) or b"", name))
    taken_at_ms = int(fields.pop("taken_at_ms"))
    return Holder(**fields), taken_at_ms


def _is_over(store: Store, generation: int, here: Holder, now_ms: int) -> bool:
    if store.get(f"{FOLDER}/{generation:010d}.end") is not None:
        return True
    if _claim(store, generation)[0].is_surely_dead(here):
        return True
    return now_ms - _last_sign_ms(store, generation) > EXPIRES_SECONDS * 1000


def _last_sign_ms(store: Store, generation: int) -> int:
    """The last heartbeat; the claim itself where there is none, or only a damaged one."""
    name = _beat_name(generation)
    for _ in range(_LOOKS):
        with contextlib.suppress(Damaged):
            return _Beat.decode(open_frame("beat", store.get(name) or b"", name)).at_ms
        # Some file systems replace an object by removing it first: one look may fall in between.
        time.sleep(_LOOK_SECONDS)
    return _claim(store, generation)[1]


@dataclass(frozen=True, slots=True)
class _Beat:
    at_ms: int
    query_runs: bool | None

    @staticmethod
    def decode(data: bytes) -> _Beat:
        return _Beat(**json.loads(data))


def _write_beat(store: Store, generation: int, now_ms: int, query_runs: bool | None = None) -> None:
    beat = json.dumps(asdict(_Beat(now_ms, query_runs))).encode()
    store.replace(_beat_name(generation), seal_frame("beat", beat))


def _beat_name(generation: int) -> str:
    return f"{FOLDER}/{generation:010d}.beat"
