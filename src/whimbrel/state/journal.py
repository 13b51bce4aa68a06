"""The journal and the pages as values of the backend: their keys, their frames, and building the tables from them.

Journal entry n has key 2n + 1, page n has key 2n. The truth of a row is the last retained write of it: its page's, or that
of a later journal entry. A write counts only if the slot owns the row's bin and the write is not older than the bin's
``since``, so a bin that left and came back never meets its old rows.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model import Damaged
from whimbrel.state.backend import Backend
from whimbrel.state.blocks import Block, apply_rows, from_bytes
from whimbrel.state.frames import open_frame, seal_frame
from whimbrel.state.grouping import group_rows, max_by_group
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.head import ABSENT, Head
from whimbrel.state.pages import NEVER
from whimbrel.state.table import KeyedTable

Mask = npt.NDArray[np.bool_]

_EPOCH = struct.Struct("<qq")
# Every byte that crosses to the state store costs far more there than its compression costs here.
_CODEC = pa.Codec("lz4_raw")


def journal_key(number: int) -> int:
    """The backend's key of a journal entry."""
    return 2 * number + 1


def page_key(number: int) -> int:
    """The backend's key of a page."""
    return 2 * number


def seal_value(kind: str, epoch: int, blocks: bytes) -> bytes:
    """A journal entry or a page, written in this epoch."""
    return seal_frame(kind, _EPOCH.pack(epoch, len(blocks)) + _CODEC.compress(blocks, asbytes=True))


def open_value(kind: str, data: bytes, where: str) -> tuple[int, list[Block]]:
    """The epoch and the blocks of a journal entry or a page. Raises Damaged."""
    payload = open_frame(kind, data, where)
    epoch, length = _EPOCH.unpack_from(payload)
    return epoch, from_bytes(_CODEC.decompress(payload[_EPOCH.size :], length, asbytes=True)) if length else []


def rebuild(head: Head, backend: Backend, tables: Sequence[KeyedTable], where: str) -> None:
    """Fills empty tables with the committed state. Raises Damaged where a value is missing or not whole."""
    entries: dict[int, bytes] = {}
    loads: list[list[tuple[Block, Mask | None]]] = [[] for _ in tables]
    numbers = {page.number for page in head.pages.pages if page.number != NEVER}
    seen: set[int] = set()
    for key, data in backend.items():
        number, is_entry = divmod(key, 2)
        if is_entry and head.journal_first <= number < head.journal_next:
            entries[number] = data
        elif not is_entry and number in numbers:
            seen.add(number)
            for block, keep in _page_blocks(head, number, data, f"page {number} of {where}"):
                loads[block.table].append((block, keep))
    lost = sorted(numbers - seen)
    if lost:
        raise Damaged(f"page {lost[0]} of {where} is missing: restart from an earlier checkpoint")
    for table, blocks in zip(tables, loads, strict=True):
        _load_pages(table, blocks)
    _replay(head, entries, tables, where)


def _page_blocks(head: Head, number: int, data: bytes, where: str) -> list[tuple[Block, Mask | None]]:
    epoch, blocks = open_value("page", data, where)
    found: list[tuple[Block, Mask | None]] = []
    for place, page in enumerate(head.pages.pages):
        if page.number == number:
            if page.epoch != epoch:
                raise Damaged(f"{where} is of epoch {epoch}, not {page.epoch}: restart from an earlier checkpoint")
            low, high = np.uint64(page.low), np.uint64(head.pages.high(place))
            for block in blocks:
                hashes = block.hashes
                keep = _counts(head, hashes, epoch) & (hashes.first >= low) & (hashes.first <= high)
                found.append((block, None if keep.all() else keep))
    return found


def _load_pages(table: KeyedTable, blocks: list[tuple[Block, Mask | None]]) -> None:
    # A page holds a narrow range of hashes: the regions must have their size for all pages before the first one fills
    # its own corner of them.
    coming = np.zeros(table.bins, np.int64)
    for block, keep in blocks:
        bins = block.hashes.bins(table.bits)
        coming += np.bincount(bins if keep is None else bins[keep], minlength=table.bins)
    table.expect(coming)
    blocks.reverse()
    while blocks:
        block, keep = blocks.pop()
        apply_rows(table, block, keep, absent=True)


def _counts(head: Head, hashes: KeyHashes, epochs: int | npt.NDArray[np.int64]) -> Mask:
    bins = hashes.bins(head.bits)
    return (head.stamps[bins] != ABSENT) & (head.since[bins] <= epochs)


def _replay(head: Head, entries: dict[int, bytes], tables: Sequence[KeyedTable], where: str) -> None:
    found: list[list[tuple[int, Block]]] = [[] for _ in tables]
    # An entry before every page's position says nothing new, and may speak of rows that a page has dropped since.
    for number in range(max(head.journal_first, head.pages.position), head.journal_next):
        if number not in entries:
            raise Damaged(f"journal entry {number} of {where} is missing: restart from an earlier checkpoint")
        epoch, blocks = open_value("journal", entries[number], f"journal entry {number} of {where}")
        for block in blocks:
            found[block.table].append((epoch, block))
    for table, history in zip(tables, found, strict=True):
        if history:
            _apply_history(head, table, history)


def _apply_history(head: Head, table: KeyedTable, history: list[tuple[int, Block]]) -> None:
    # All writes of one table end to end, each entry's removals before its rows: the last write of a key is its truth.
    hashes = KeyHashes.concat([part for _, block in history for part in (block.removed, block.hashes)])
    lengths = [size for _, block in history for size in (len(block.removed), len(block.rows))]
    epochs = np.repeat([epoch for epoch, _ in history for _ in range(2)], lengths)
    is_row = np.repeat([bool(k) for _ in history for k in range(2)], lengths)
    last = np.zeros(len(hashes), np.bool_)
    group, first_row = group_rows(hashes)
    last[max_by_group(np.arange(len(hashes)), group, len(first_row))] = True
    last &= _counts(head, hashes, epochs)
    gone = table.find(hashes.take(last & ~is_row))
    table.discard(gone[gone >= 0])
    rows = Block(
        history[0][1].table,
        # A block of one row may lie in either order, and then so does what is made of several.
        np.ascontiguousarray(np.concatenate([block.rows for _, block in history])),
        np.concatenate([block.values for _, block in history]),
        history[0][1].removed,
    )
    apply_rows(table, rows, last[is_row], absent=table.count == 0)
