"""SlotLedger: the state of one slot and operator during one epoch, and its commit.

The truth is in the backend: a head, a journal of changed rows, and base pages. Tables are what the operator works on: a
local copy where it provably is the committed version, else built from the truth. Nothing is written to the backend before
``commit``, so a failed epoch leaves no trace. A ledger serves one epoch: open, work, commit.

On CopyDamaged nothing has been committed: open again (the copy is now known to be bad and is built anew) and repeat the
epoch's work; ``run_epoch`` does that.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from whimbrel.model import BadInput, JobMismatch
from whimbrel.state.backend import Backend, TableSpec
from whimbrel.state.blocks import apply_rows
from whimbrel.state.copies import LocalCopy, borrow
from whimbrel.state.damage import CopyDamaged
from whimbrel.state.exports import export_bins, open_export
from whimbrel.state.growth import earlier_tables, fill_grown, fingerprint_of
from whimbrel.state.head import ABSENT, Head, OwnedBins, open_head
from whimbrel.state.journal import rebuild
from whimbrel.state.table import KeyedTable
from whimbrel.state.writing import Writing

Bins = Sequence[int] | npt.NDArray[np.int64]
Result = TypeVar("Result")

VALUE_BYTES_LEAST = 1 << 10
"""The least ``value_bytes_max`` that makes sense."""


class SlotLedger:
    """Made by ``open``. ``tables`` are in the order of their specs."""

    def __init__(
        self,
        backend: Backend,
        specs: Sequence[TableSpec],
        head: Head,
        tables: list[KeyedTable],
        limits: tuple[int, int],
        copy: LocalCopy | None = None,
    ) -> None:
        self._backend, self._specs, self._head, self.tables = backend, specs, head, tables
        self._page_bytes, self._value_bytes_max = limits
        self._fresh_bins: set[int] = set()
        self._copy, self._has_grown = copy, False
        self._release_lock: Callable[[], Any] = (lambda: None) if copy is None else weakref.finalize(self, copy.unlock)
        self.owned = OwnedBins(head.stamps)
        self.rebuilt = False

    @staticmethod
    def open(
        backend: Backend,
        tables: Sequence[TableSpec],
        bits: int = 8,
        copy_root: Path | None = None,
        page_bytes: int = 1 << 20,
        value_bytes_max: int = 2 << 20,
        earlier: Sequence[Sequence[TableSpec]] = (),
    ) -> SlotLedger:
        """The ledger as of the last commit. ``copy_root`` is this slot's own directory for its local copy, or None.

        ``earlier`` are the tables that the operator had before it grew. Raises Damaged where the truth is not whole,
        JobMismatch where it was written for other tables or bins.
        """
        if value_bytes_max < VALUE_BYTES_LEAST:
            raise BadInput(f"value_bytes_max is {value_bytes_max}: give at least {VALUE_BYTES_LEAST}")
        fingerprint = fingerprint_of(tables)
        data, where = backend.get_head(), "the state of the slot"
        head = Head(fingerprint, bits) if data is None else open_head(data, f"the head of {where}")
        was = None if head.fingerprint == fingerprint or not earlier else earlier_tables(head.fingerprint, earlier)
        if (head.fingerprint if was is None else fingerprint, head.bits) != (fingerprint, bits):
            raise JobMismatch(
                f"the state was written for tables {head.fingerprint} with {1 << head.bits} bins, and the operator now "
                f"has {fingerprint} with {1 << bits}: restore the old settings, or start a new job"
            )
        copy = None if copy_root is None else borrow(copy_root, tables, bits)
        try:
            limits = (page_bytes, value_bytes_max)
            if was is None:
                return SlotLedger._opened(backend, tables, head, copy, limits, where)
            return SlotLedger._grown(backend, was, tables, head, copy, limits, where)
        except BaseException:
            if copy is not None:
                copy.unlock()
            raise

    @staticmethod
    def _opened(
        backend: Backend,
        specs: Sequence[TableSpec],
        head: Head,
        copy: LocalCopy | None,
        limits: tuple[int, int],
        where: str,
    ) -> SlotLedger:
        known = copy is not None and copy.load(head.chain)
        if copy is not None and not known and not _refill(copy, head, backend, where):
            copy.unlock()
            copy = None
        held = copy.tables if copy is not None else [KeyedTable(s.key, s.value, head.bits) for s in specs]
        if copy is None:
            rebuild(head, backend, held, where)
        ledger = SlotLedger(backend, specs, head, held, limits, copy)
        ledger.rebuilt = not known and head.epoch >= 0
        return ledger

    @staticmethod
    def _grown(
        backend: Backend,
        was: Sequence[TableSpec],
        specs: Sequence[TableSpec],
        head: Head,
        copy: LocalCopy | None,
        limits: tuple[int, int],
        where: str,
    ) -> SlotLedger:
        # The copy on disk has the columns of before, whatever its chain says: it starts again from empty files.
        held = [KeyedTable(s.key, s.value, head.bits) for s in was]
        rebuild(head, backend, held, where)
        if copy is not None:
            copy.reset()
        tables = copy.tables if copy is not None else [KeyedTable(s.key, s.value, head.bits) for s in specs]
        fill_grown(was, held, specs, tables)
        head.fingerprint = fingerprint_of(specs)
        ledger = SlotLedger(backend, specs, head, tables, limits, copy)
        ledger.rebuilt = ledger._has_grown = True
        return ledger

    @property
    def epoch(self) -> int:
        """The last committed epoch, or -1."""
        return self._head.epoch

    @property
    def notes(self) -> dict[str, Any]:
        """Small facts of the operator, JSON-able, kept with the slot (they do not move with a bin)."""
        return self._head.notes

    def table(self, name: str) -> KeyedTable:
        """The table of this name. Raises BadInput."""
        for spec, table in zip(self._specs, self.tables, strict=True):
            if spec.name == name:
                return table
        raise BadInput(f"there is no table {name!r}: the operator declares {[spec.name for spec in self._specs]}")

    def adopt(self, bins: Bins, stamp: int) -> None:
        """Owns these bins from now on; they start empty. Raises BadInput for a bin that is owned already."""
        for b in _ints(bins):
            if b in self.owned:
                raise BadInput(f"bin {b} is owned by this slot already: release it before it is brought again")
            self._head.stamps[b] = stamp
            self._head.rows[b] = 0
            self._fresh_bins.add(b)

    def add_rows(self, bins: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> None:
        """Adds to the accepted rows of the bins."""
        np.add.at(self._head.rows, bins, counts)

    def rows_of(self, b: int) -> int:
        """How many rows the bin has accepted, in whatever slot."""
        return int(self._head.rows[b])

    def export(self, bins: Bins) -> bytes:
        """The bins as one frame. Raises BadInput for a bin that is not owned."""
        for b in _ints(bins):
            self._require(b)
        return export_bins(self.tables, self._head.fingerprint, {b: self.rows_of(b) for b in _ints(bins)})

    def install(self, data: bytes, bins: Bins, stamp: int, where: str) -> None:
        """Owns these bins of an export from now on, with their rows.

        Raises Damaged where the export is not whole, BadInput where it is another operator's, lacks a bin, or brings one
        that is owned already. Nothing is changed then.
        """
        wanted = _ints(bins)
        arrivals = open_export(data, wanted, self._head.fingerprint, self._head.bits, where)
        self.adopt(wanted, stamp)
        for arrival in arrivals:
            self._head.rows[arrival.bin] = arrival.rows
            for block in arrival.blocks:
                table = self.tables[block.table]
                table.seal(apply_rows(table, block))

    def release(self, bins: Bins) -> None:
        """Forgets bins that have moved away. Raises BadInput for a bin that is not owned."""
        released = _ints(bins)
        for b in released:
            self._require(b)
        for table in self.tables:
            rows = table.scan(released)
            if len(rows):
                table.before_change()
                table.discard(rows)
        self._head.stamps[released] = ABSENT
        self._head.rows[released] = 0
        self._fresh_bins -= set(released)

    def state_bytes(self) -> dict[str, npt.NDArray[np.int64]]:
        """Per table, and for all under ``"total"``: the bytes of state of every bin."""
        sizes = {spec.name: table.sizes() for spec, table in zip(self._specs, self.tables, strict=True)}
        return {**sizes, "total": np.sum(list(sizes.values()), axis=0)}

    def stored_bytes(self) -> dict[str, int]:
        """What the backend holds: bytes of ``base`` pages and of ``journal``, and the number of ``entries``."""
        sizes = self._head.journal_sizes
        return {"base": self._head.pages.bytes, "journal": sum(sizes), "entries": len(sizes)}

    def commit(self, epoch: int) -> None:
        """Writes what has changed to the backend and closes the ledger.

        Raises BadInput for an epoch that is not after the last one, or for rows of a bin that is not owned.
        """
        head = self._head
        if epoch <= head.epoch:
            raise BadInput(f"epoch {epoch} cannot follow epoch {head.epoch}: epochs only grow")
        self._check_owned()
        head.since[sorted(self._fresh_bins)] = epoch
        writing = Writing(self._backend, head, self.tables, self._page_bytes, self._value_bytes_max)
        written = writing.write(epoch, [table.take_changed() for table in self.tables], self._has_grown)
        head.link(epoch, written)
        writing.flush()
        self._backend.put_head(head.seal())
        for table in self.tables:
            table.removed.clear()
        if self._copy is not None:
            # A copy that cannot be saved, on a full disk for example, is one that is built again; the epoch stands.
            with contextlib.suppress(OSError):
                self._copy.save(head.chain)
        self.close()

    def close(self) -> None:
        """Gives the lock of the local copy back. Without a commit nothing is kept."""
        self._release_lock()

    def _require(self, b: int) -> None:
        if b not in self.owned:
            raise BadInput(f"bin {b} is not owned by this slot: it owns {list(self.owned)}")

    def _check_owned(self) -> None:
        for spec, table in zip(self._specs, self.tables, strict=True):
            strays = np.flatnonzero((table.counts() > 0) & (self._head.stamps == ABSENT))
            if len(strays):
                raise BadInput(
                    f"table {spec.name!r} has rows of bin {strays[0]}, which this slot does not own: adopt it"
                )


def _refill(copy: LocalCopy, head: Head, backend: Backend, where: str) -> bool:
    # Without room for a copy the slot works in memory: slower to open, and nothing else.
    try:
        copy.reset()
        rebuild(head, backend, copy.tables, where)
        copy.save(head.chain)
    except (OSError, CopyDamaged):
        return False
    return True


def run_epoch(open_ledger: Callable[[], SlotLedger], work: Callable[[SlotLedger], Result]) -> Result:
    """Does the work of an epoch on a ledger; where the local copy turns out to be damaged, once more on a new one."""
    ledger = open_ledger()
    try:
        return work(ledger)
    except CopyDamaged:
        ledger.close()
    ledger = open_ledger()
    try:
        return work(ledger)
    finally:
        ledger.close()


def _ints(bins: Bins) -> list[int]:
    return sorted({int(b) for b in bins})
