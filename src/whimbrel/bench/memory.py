"""The memory of a run: the resident set of the JVM and of all Python processes under this one, over time.

Read from ``/proc``; where there is none, there are no samples.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PROCESSES = Path("/proc")
SAMPLE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Sample:
    """Resident bytes at one moment, in milliseconds of the clock."""

    at_ms: float
    jvm_bytes: int
    python_bytes: int


class MemoryWatch:
    """Samples in a thread of its own from ``start`` to ``stop``."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory-watch", daemon=True)

    def start(self) -> MemoryWatch:
        """Begin; returns itself."""
        self._thread.start()
        return self

    def stop(self) -> list[Sample]:
        """End; all samples in order."""
        self._stopped.set()
        self._thread.join()
        return self.samples

    def _run(self) -> None:
        while not self._stopped.wait(SAMPLE_SECONDS):
            self.samples.append(sample(os.getpid()))


def sample(root: int) -> Sample:
    """The resident memory of all that descends from process ``root``, and of itself."""
    parents, names, pages = {}, {}, {}
    for folder in PROCESSES.glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        pid, fields = int(folder.name), rest.split()
        parents[pid], names[pid], pages[pid] = int(fields[1]), name.partition("(")[2], int(fields[21])
    ours = [pid for pid in parents if _descends(pid, root, parents)]
    size = os.sysconf("SC_PAGE_SIZE")
    jvm = sum(pages[pid] for pid in ours if names[pid].startswith("java"))
    return Sample(time.time() * 1000, jvm * size, sum(pages[pid] for pid in ours) * size - jvm * size)


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    seen = set()
    while pid in parents and pid not in seen:
        if pid == root:
            return True
        seen.add(pid)
        pid = parents[pid]
    return False
