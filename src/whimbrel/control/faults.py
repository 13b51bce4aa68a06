"""Lets a test kill the driver, or the worker itself, at a named point of the handover. Silent otherwise.

Armed by the environment alone: ``WHIMBREL_FAULT=point@epoch`` and ``WHIMBREL_FAULT_PIDS=1,2`` (the processes to
kill, besides the one that arrives). Each armed fault fires once: it leaves ``WHIMBREL_FAULT_MARK`` behind.
"""

import os
import signal
from pathlib import Path


def reached(point: str, epoch: int) -> None:
    """Say that a fault point was reached in this epoch."""
    if os.environ.get("WHIMBREL_FAULT") != f"{point}@{epoch}":
        return
    mark = Path(os.environ["WHIMBREL_FAULT_MARK"])
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    for pid in filter(None, os.environ.get("WHIMBREL_FAULT_PIDS", "").split(",")):
        os.kill(int(pid), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
