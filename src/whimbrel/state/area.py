"""Areas: growing arrays of 64-bit words, in memory or over a memory-mapped file.

A new word is zero, a grown area keeps what it held. The first page of a file is its stamp: the version of the copy that
the file belongs to, so that a file of another version, put in its place, is noticed when it is opened.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]

_STAMP_BYTES = 4096
_STAMP_WORDS = _STAMP_BYTES // 8
_SMALLEST = 512


class Area:
    """``words`` is the array; it changes identity when the area grows, so hold it no longer than one operation."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file: int | None = None
        self.words: Words = np.zeros(0, np.int64)
        if path is not None:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            self.refresh()

    def refresh(self) -> None:
        """Sees the file as long as it is now: another process may have grown it."""
        if self._file is not None:
            size = max(0, os.fstat(self._file).st_size // 8 - _STAMP_WORDS)
            if size != len(self.words):
                self._map(size)

    def reserve(self, count: int) -> None:
        """Grows to at least ``count`` words, by half at the least, so that growing stays cheap on the whole.

        Raises OSError where the disk is full: room is taken from it here, so that no later write can fail.
        """
        if count <= len(self.words):
            return
        size = max(count, len(self.words) * 3 // 2, _SMALLEST)
        if self._file is None:
            grown = np.zeros(size, np.int64)
            grown[: len(self.words)] = self.words
            self.words = grown
        else:
            self._take_room((_STAMP_WORDS + size) * 8)
            self._map(size)

    @property
    def room_bytes(self) -> int:
        """How large the area is, used or not."""
        return len(self.words) * 8

    def stamp(self, version: bytes) -> None:
        """Writes which version of the copy this file belongs to."""
        if self._file is not None:
            os.pwrite(self._file, version, 0)

    def has_stamp(self, version: bytes) -> bool:
        """Whether the file on disk is the one that is mapped and belongs to this version."""
        if self._file is None or self._path is None:
            return True
        try:
            same = os.path.samestat(self._path.stat(), os.fstat(self._file))
        except OSError:
            return False
        return same and os.pread(self._file, len(version), 0) == version

    def close(self) -> None:
        """Gives the file back; the words stay readable while somebody holds them."""
        self.words = np.zeros(0, np.int64)
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _take_room(self, size_bytes: int) -> None:
        if self._file is not None and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file, 0, size_bytes)
        elif self._file is not None:
            os.ftruncate(self._file, size_bytes)

    def _map(self, size: int) -> None:
        if self._file is None or size == 0:
            self.words = np.zeros(0, np.int64)
            return
        mapped = mmap.mmap(self._file, (_STAMP_WORDS + size) * 8)
        self.words = np.frombuffer(mapped, np.int64)[_STAMP_WORDS:]
