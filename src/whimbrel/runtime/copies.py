"""Where local copies of slots live: a cache beside the executor, safe to delete at any time.

``WHIMBREL_COPIES`` names the folder; otherwise it lies in the system's temporary folder, one per user. A job's
part is named by the job's directory, so two jobs never meet.
"""

from __future__ import annotations

import getpass
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from whimbrel.state.frames import digest


@lru_cache(maxsize=64)
def copies_of(directory: str) -> Path:
    """The folder of all local copies of a job on this machine."""
    root = os.environ.get("WHIMBREL_COPIES")
    base = Path(root) if root else Path(tempfile.gettempdir()) / f"whimbrel-{getpass.getuser()}"
    return base / digest(directory.encode())


def copy_folder(directory: str, operator: str, slot: int) -> Path:
    """The folder of one slot's copy."""
    return copies_of(directory) / operator / f"{slot:04d}"


def forget_copies(directory: str) -> None:
    """Delete a job's local copies on this machine; the next epoch rebuilds what it needs from the state store."""
    shutil.rmtree(copies_of(directory), ignore_errors=True)
