"""Blocks: rows of a table, and keys that were removed, as bytes that mean the same in any process and any slot.

What a block says is absolute: these keys have these rows, those keys have none. Saying it twice changes nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whimbrel.state import block_kernels, row_kernels
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.table import KeyedTable

Words = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_HEAD = struct.Struct("<5q")


@dataclass(frozen=True)
class Block:
    """Rows of table number ``table`` (without check words), their values, and the hashes of removed keys."""

    table: int
    rows: Words
    values: Words
    removed: KeyHashes

    @property
    def hashes(self) -> KeyHashes:
        """The hashes of the rows."""
        return KeyHashes(
            np.ascontiguousarray(self.rows[:, 0]).view(np.uint64), np.ascontiguousarray(self.rows[:, 1]).view(np.uint64)
        )


def no_hashes() -> KeyHashes:
    """The hashes of no rows."""
    return KeyHashes(np.zeros(0, np.uint64), np.zeros(0, np.uint64))


def pack_block(number: int, table: KeyedTable, rows: Words, removed: KeyHashes) -> Block:
    """These rows of the table, each verified. Raises CopyDamaged."""
    block = np.empty((len(rows), table.layout.width - 1), np.int64)
    values = np.empty(int(_value_words(table, rows).sum()), np.int64)
    used = int(table.counters[row_kernels.HEAP])
    bad = block_kernels.pack_rows(
        table.rows, rows, table.used, table.layout.references, table.heap, used, block, values
    )
    table.sound(bad < 0, "a row or its values")
    return Block(number, block, values, removed)


def split_rows(table: KeyedTable, rows: Words, bytes_max: int) -> list[Words]:
    """The rows in runs whose blocks take at most ``bytes_max`` each; a row larger than that is a run of its own."""
    ends = np.cumsum((_value_words(table, rows) + table.layout.width - 1) * 8)
    runs, start = [], 0
    while start < len(rows):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + bytes_max, side="right")))
        runs.append(rows[start:stop])
        start = stop
    return runs


def _value_words(table: KeyedTable, rows: Words) -> Words:
    if not len(table.layout.references):
        return np.zeros(len(rows), np.int64)
    sizes = np.empty(len(rows), np.int64)
    used = int(table.counters[row_kernels.HEAP])
    bad = block_kernels.measure_rows(table.rows, rows, table.used, table.layout.references, table.heap, used, sizes)
    table.sound(bad < 0, "a row")
    return sizes


def to_bytes(blocks: Sequence[Block]) -> bytes:
    """The blocks one after the other; empty ones are left out."""
    parts = []
    for block in blocks:
        if len(block.rows) or len(block.removed):
            parts.append(_HEAD.pack(block.table, *block.rows.shape, len(block.values), len(block.removed)))
            parts += [_by_byte(block.rows).tobytes(), block.values.tobytes()]
            parts += [block.removed.first.tobytes(), block.removed.second.tobytes()]
    return b"".join(parts)


def _by_byte(rows: Words) -> npt.NDArray[np.uint8]:
    # All first bytes, then all second bytes, …: neighbours are alike then, and a compressor finds it.
    return np.ascontiguousarray(rows.view(np.uint8).T)


def from_bytes(data: bytes, start: int = 0, stop: int | None = None) -> list[Block]:
    """The blocks in these bytes, which must come from a frame that was whole."""
    at, stop, blocks = start, len(data) if stop is None else stop, []
    while at < stop:
        table, count, width, words, removed = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        shuffled = np.frombuffer(data, np.uint8, count * width * 8, at).reshape(width * 8, count)
        rows = np.ascontiguousarray(shuffled.T).view(np.int64).reshape(count, width)
        values = np.frombuffer(data, np.int64, words, at + rows.nbytes)
        at += rows.nbytes + values.nbytes
        first = np.frombuffer(data, np.uint64, removed, at)
        second = np.frombuffer(data, np.uint64, removed, at + first.nbytes)
        at += 2 * first.nbytes
        blocks.append(Block(table, rows, values, KeyHashes(first, second)))
    return blocks


def apply_rows(table: KeyedTable, block: Block, keep: Mask | None = None, absent: bool = False) -> Words:
    """Puts the block's rows, or those that ``keep`` names, into the table; of one key that comes twice the last stays.

    ``absent`` says that the keys are distinct and that the table has none of them. Returns the rows of the table. The
    journal does not hear of it: ``table.seal`` tells it.
    """
    chosen = np.arange(len(block.rows)) if keep is None else np.flatnonzero(keep)
    if not len(chosen):
        return np.empty(0, np.int64)
    hashes = block.hashes.take(chosen) if keep is not None else block.hashes
    rows = table.insert(hashes) if absent else table.make_rows(hashes)[0]
    places = table.layout.references
    starts = np.zeros(len(block.rows), np.int64)
    if len(places):
        sizes = np.empty(len(block.rows), np.int64)
        block_kernels.block_sizes(block.rows, places, sizes)
        starts = np.cumsum(sizes) - sizes
        room = int(sizes[chosen].sum()) + len(chosen) * len(places)
        table.reserve("heap", int(table.counters[row_kernels.HEAP]) + room + room // 4 + 8)
    bad = block_kernels.fill_rows(
        block.rows, chosen, block.values, starts, places, table.rows, rows, table.heap, table.counters,
        table.block_lists, table.regions, table.bits, table.marks,
    )  # fmt: skip
    table.sound(bad < 0, "a value that is replaced")
    return rows
