"""Lets a test kill the driver, with everything below it, at a named point of the handover. Silent otherwise.

Armed by the environment alone: ``WHIMBREL_FAULT=point@epoch``, and ``WHIMBREL_FAULT_TOP``, the process to kill
together with all that lies between it and the one that arrives. An armed fault fires once: it leaves
``WHIMBREL_FAULT_MARK`` behind.
"""

import os
import signal
from pathlib import Path


def reached(point: str, epoch: int) -> None:
    """Say that a fault point was reached in this epoch."""
    if os.environ.get("WHIMBREL_FAULT") != f"{point}@{epoch}":
        return
    try:
        Path(os.environ["WHIMBREL_FAULT_MARK"]).touch(exist_ok=False)
    except FileExistsError:
        return
    for pid in _chain_to(int(os.environ["WHIMBREL_FAULT_TOP"])):
        os.kill(pid, signal.SIGKILL)


def _chain_to(top: int) -> list[int]:
    """The processes from ``top`` down to this one, this one last."""
    chain = [os.getpid()]
    while chain[-1] != top and chain[-1] > 1:
        chain.append(int(Path(f"/proc/{chain[-1]}/stat").read_text().rpartition(")")[2].split()[1]))
    return chain[::-1]
