"""What a commit writes to the backend: a journal entry of the changed rows, and now and then a page.

Invariant: after ``write`` the pages and the entries that the head still names hold every living row. Entries that no page
needs any more are dropped, a few at a time; a page is rewritten only when the journal has paid for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from whimbrel.state.backend import Backend
from whimbrel.state.blocks import Block, no_hashes, pack_block, split_rows, to_bytes
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.head import ABSENT, Head
from whimbrel.state.journal import journal_key, page_key, seal_value
from whimbrel.state.pages import SizeMap
from whimbrel.state.table import KeyedTable

Rows = npt.NDArray[np.int64]

JOURNAL_BYTES_SPARED = 1 << 18
"""While the journal is smaller than this no page is rewritten: small states stay in their journal."""
JOURNAL_ENTRIES_MAX = 4096
"""About how many entries a turn of the hand may take, whatever their size: building a copy reads them all."""
FRAME_BYTES_MAX = 256
"""More than what a frame and the heads of its blocks add to their content."""
_REWRITE_SHARE = 0.75
_DENSE_SHARE = 0.4
_BYTES_PER_ROW_GUESS = 32


@dataclass(frozen=True)
class Writing:
    """One commit of one slot. Values are at most ``value_bytes_max`` long, pages about ``page_bytes``.

    The backend is touched by ``flush`` alone. Until then rows are still read, and a local copy may turn out to be damaged:
    the epoch is then repeated from the truth, which must be whole.
    """

    backend: Backend
    head: Head
    tables: Sequence[KeyedTable]
    page_bytes: int
    value_bytes_max: int
    _pending: dict[int, bytes | None] = field(default_factory=dict)
    """What ``flush`` will put under each key, or None where it will remove it."""

    def flush(self) -> None:
        """Carries out what ``write`` has decided."""
        for key, data in self._pending.items():
            if data is None:
                self.backend.remove(key)
            else:
                self.backend.put(key, data)

    def write(self, epoch: int, changed: Sequence[Rows], whole: bool = False) -> list[bytes]:
        """Packs the ``changed`` rows of every table, or all rows (``whole``); returns what is to be written, in order.

        Raises CopyDamaged; nothing has reached the backend then.
        """
        if whole or self._is_dense(changed):
            written = self._write_all_pages(epoch)
        else:
            written = self._write_journal(epoch, changed)
            self._turn_pages(epoch, sum(len(entry) for entry in written))
        self._drop_entries(len(written))
        return written

    def _sizes(self) -> SizeMap:
        return SizeMap(np.sum([table.sizes() for table in self.tables], axis=0), self.head.bits)

    def _is_dense(self, changed: Sequence[Rows]) -> bool:
        # When much of the state changed, writing all of it once is cheaper than a journal that is then folded into pages.
        touched = sum(map(len, changed))
        held = sum(table.count for table in self.tables)
        return touched * _BYTES_PER_ROW_GUESS > JOURNAL_BYTES_SPARED and touched >= _DENSE_SHARE * held

    def _write_all_pages(self, epoch: int) -> list[bytes]:
        sizes = self._sizes()
        self.head.credit, self.head.pages.hand = 0.0, 0
        written: list[bytes] = []
        while not written or self.head.pages.hand:
            written.append(self._write_page(*self.head.pages.next_piece(sizes, self.page_bytes), epoch))
        return written

    def _write_journal(self, epoch: int, changed: Sequence[Rows]) -> list[bytes]:
        entries = []
        for payload in self._journal_payloads(changed):
            entry = seal_value("journal", epoch, payload)
            self._pending[journal_key(self.head.journal_next)] = entry
            self.head.journal_sizes.append(len(entry))
            entries.append(entry)
        return entries

    def _journal_payloads(self, changed: Sequence[Rows]) -> list[bytes]:
        room = self.value_bytes_max - FRAME_BYTES_MAX
        payloads: list[list[Block]] = [[]]
        left = room
        for block in self._changes(changed, room):
            size = block.rows.nbytes + block.values.nbytes + 16 * len(block.removed) + 40
            if size > left and payloads[-1]:
                payloads.append([])
                left = room
            payloads[-1].append(block)
            left -= size
        return [payload for payload in map(to_bytes, payloads) if payload]

    def _changes(self, changed: Sequence[Rows], bytes_max: int) -> list[Block]:
        blocks = []
        for number, (table, rows) in enumerate(zip(self.tables, changed, strict=True)):
            for removed in _runs(self._truly_removed(table), bytes_max // 16):
                blocks.append(pack_block(number, table, np.empty(0, np.int64), removed))
            for run in split_rows(table, rows, bytes_max):
                blocks.append(pack_block(number, table, run, no_hashes()))
        return blocks

    def _truly_removed(self, table: KeyedTable) -> KeyHashes:
        if not table.removed:
            return no_hashes()
        hashes = KeyHashes.concat(table.removed)
        hashes = hashes.take(self.head.stamps[hashes.bins(self.head.bits)] != ABSENT)
        hashes = hashes.take(table.find(hashes) < 0)
        return hashes.take(np.lexsort((hashes.second, hashes.first)))

    def _turn_pages(self, epoch: int, journal_bytes: int) -> None:
        head = self.head
        if not journal_bytes:
            return
        sizes = self._sizes()
        whole = sizes.between(0, (1 << 64) - 1)
        head.credit += max(_REWRITE_SHARE * journal_bytes, whole / JOURNAL_ENTRIES_MAX)
        while True:
            if not self._journal_is_long():
                head.credit = 0.0
                return
            low, high = head.pages.next_piece(sizes, self.page_bytes)
            if head.credit < sizes.between(low, high):
                return
            head.credit -= len(self._write_page(low, high, epoch))

    def _journal_is_long(self) -> bool:
        head = self.head
        needed = head.journal_sizes[max(0, head.pages.position - head.journal_first) :]
        return sum(needed) > min(JOURNAL_BYTES_SPARED, self.page_bytes) or len(needed) > JOURNAL_ENTRIES_MAX

    def _write_page(self, low: int, high: int, epoch: int) -> bytes:
        blocks = [pack_block(n, table, table.scan_range(low, high), no_hashes()) for n, table in enumerate(self.tables)]
        data = seal_value("page", epoch, to_bytes(blocks))
        if len(data) > self.value_bytes_max and low < high:
            return self._write_page(low, low + (high - low) // 2, epoch)
        number, free = self.head.pages.written(high, self.head.journal_next, epoch, len(data))
        self._pending[page_key(number)] = data
        for other in free:
            self._pending[page_key(other)] = None
        return data

    def _drop_entries(self, added: int) -> None:
        head = self.head
        spare = min(head.pages.position - head.journal_first, 2 * added + 2)
        for _ in range(max(0, spare)):
            self._pending[journal_key(head.journal_first)] = None
            head.journal_first += 1
            head.journal_sizes.pop(0)


def _runs(hashes: KeyHashes, size: int) -> list[KeyHashes]:
    return [hashes.take(np.arange(at, min(at + size, len(hashes)))) for at in range(0, len(hashes), size)]
