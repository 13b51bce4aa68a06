"""The local copy of a slot's tables: files that any Python worker of the executor may map, under one lock.

A copy is used only if all of this holds: its lock is ours, its header is whole and clean, the header's chain is the
committed head's, and every file is the one that the header was saved with (each carries the header's stamp, a random
number drawn at each save, and was mapped under its present inode). The header also names the boot of the machine: after a
power failure pages may be missing, so a copy from before is never used. Anything else is built again from the truth.

The header is one byte, ``C`` clean or ``D`` dirty, the stamp, and a frame. The byte becomes D before the first change of an epoch
and C after everything else of a commit.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from whimbrel.model import Damaged
from whimbrel.state.arrays import pack_arrays, unpack_arrays
from whimbrel.state.backend import TableSpec
from whimbrel.state.damage import CopyDamaged
from whimbrel.state.frames import open_frame, seal_frame
from whimbrel.state.table import KeyedTable

OPEN_COPIES_MAX = 32

_CLEAN, _DIRTY = b"C", b"D"
_STAMP_BYTES = 16
_FRAME_START = 1 + _STAMP_BYTES
_open_copies: OrderedDict[Path, LocalCopy] = OrderedDict()


class LocalCopy:
    """One directory with the tables of one slot. Made by ``borrow``, given back by ``give_back``."""

    def __init__(self, directory: Path, specs: Sequence[TableSpec], bits: int) -> None:
        self.directory, self.specs, self.bits = directory, specs, bits
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        self.busy = False
        self._dirty = True
        self._stamp = self._chain = b""
        self.tables = self._open_tables()

    def lock(self) -> bool:
        """Takes the lock, unless another process or another ledger of this one has it."""
        if self.busy:
            return False
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        self.busy = True
        return True

    def unlock(self) -> None:
        """Gives the lock back."""
        if self.busy:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            self.busy = False

    def is_current(self) -> bool:
        """Whether the directory on disk still is the one whose lock this is."""
        try:
            return os.path.samestat((self.directory / "lock").stat(), os.fstat(self._lock))
        except OSError:
            return False

    def load(self, chain: bytes) -> bool:
        """Takes up the files as they are, if they provably are the version of this chain."""
        try:
            return self._load(chain)
        except (OSError, Damaged, CopyDamaged, ValueError, KeyError):
            return False

    def reset(self) -> None:
        """Starts again with empty files under new inodes; whoever maps the old ones keeps them to himself."""
        self.mark_dirty()
        for table, spec in zip(self.tables, self.specs, strict=True):
            table.close()
            shutil.rmtree(self.directory / spec.name, ignore_errors=True)
        self.tables = self._open_tables()
        self._stamp = self._chain = b""

    def save(self, chain: bytes) -> None:
        """Says that the files are the version of this chain. Where it raises, they are the version of none."""
        self.mark_dirty()
        self._stamp = os.urandom(_STAMP_BYTES)
        facts = {"bits": self.bits, "boot": _boot(), "chain": chain.hex(), "stamp": self._stamp.hex()}
        parts = {f"{n}.{name}": part for n, t in enumerate(self.tables) for name, part in t.parts().items()}
        for table in self.tables:
            for area in table.areas.values():
                area.stamp(self._stamp)
        header = os.open(self.directory / "header", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            frame = seal_frame("copy", pack_arrays(facts, parts))
            os.pwrite(header, _DIRTY + self._stamp + frame, 0)
            os.ftruncate(header, _FRAME_START + len(frame))
            os.pwrite(header, _CLEAN, 0)
        finally:
            os.close(header)
        self._chain, self._dirty = chain, False

    def mark_dirty(self) -> None:
        """Says that the files are no committed version, before they change."""
        if not self._dirty:
            with contextlib.suppress(FileNotFoundError):
                header = os.open(self.directory / "header", os.O_RDWR)
                os.pwrite(header, _DIRTY, 0)
                os.close(header)
            self._dirty = True

    def close(self) -> None:
        """Gives every file back."""
        self.unlock()
        os.close(self._lock)
        for table in self.tables:
            table.close()

    def _load(self, chain: bytes) -> bool:
        with (self.directory / "header").open("rb") as header:
            start = header.read(_FRAME_START)
            if start[:1] != _CLEAN:
                return False
            if self._is_loaded(chain, start[1:]):
                return True
            facts, parts = unpack_arrays(open_frame("copy", header.read(), str(self.directory / "header")))
        stamp = bytes.fromhex(facts["stamp"])
        if facts["chain"] != chain.hex() or facts["boot"] != _boot() or facts["bits"] != self.bits:
            return False
        if not self._all_stamped(stamp):
            for table in self.tables:
                table.close()
            self.tables = self._open_tables()
            if not self._all_stamped(stamp):
                return False
        for n, table in enumerate(self.tables):
            own = {name.split(".", 1)[1]: part for name, part in parts.items() if name.split(".", 1)[0] == str(n)}
            table.restore(own)
        self._stamp, self._chain, self._dirty = stamp, chain, False
        return True

    def _is_loaded(self, chain: bytes, stamp: bytes) -> bool:
        # What this process saved or loaded last and nobody has saved since is in its memory as it is on disk.
        return not self._dirty and (self._chain, self._stamp) == (chain, stamp) and self._all_stamped(stamp)

    def _all_stamped(self, stamp: bytes) -> bool:
        return all(area.has_stamp(stamp) for table in self.tables for area in table.areas.values())

    def _open_tables(self) -> list[KeyedTable]:
        tables = []
        for spec in self.specs:
            directory = self.directory / spec.name
            directory.mkdir(exist_ok=True, mode=0o700)
            tables.append(KeyedTable(spec.key, spec.value, self.bits, directory))
        for table in tables:
            table.before_change = table.on_damage = self.mark_dirty
        return tables


def borrow(directory: Path, specs: Sequence[TableSpec], bits: int) -> LocalCopy | None:
    """The copy in this directory, locked; None where it is taken or cannot be made. It stays open between calls."""
    directory = directory.absolute()
    try:
        copy = _open_copies.pop(directory, None)
        if copy is not None and not (copy.is_current() and (list(copy.specs), copy.bits) == (list(specs), bits)):
            if not copy.busy:
                copy.close()
            copy = None
        copy = LocalCopy(directory, specs, bits) if copy is None else copy
    except OSError:
        return None
    _open_copies[directory] = copy
    _close_surplus()
    return copy if copy.lock() else None


def drop_copies(root: Path) -> None:
    """Deletes every copy at or below this directory. Whoever uses one keeps what is mapped, and builds anew later."""
    root = root.absolute()
    for directory in [d for d in _open_copies if d == root or root in d.parents]:
        if not _open_copies[directory].busy:
            _open_copies.pop(directory).close()
    shutil.rmtree(root, ignore_errors=True)


def _close_surplus() -> None:
    for directory in list(_open_copies)[: max(0, len(_open_copies) - OPEN_COPIES_MAX)]:
        if not _open_copies[directory].busy:
            _open_copies.pop(directory).close()


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
