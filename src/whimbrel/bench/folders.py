"""Where a bench keeps a run's checkpoint: a folder that is gone afterwards.

Spark's maintenance may still write a snapshot after a query has stopped, so what comes back is removed when the process ends.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def folder_of_a_run() -> Iterator[Path]:
    """A new empty folder.

    >>> with folder_of_a_run() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    folder = Path(tempfile.mkdtemp(prefix="whimbrel-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
