"""KeyedTable: rows found by the hash of their key, in arrays that live in memory or in memory-mapped files.

Row numbers are this table's own: they stay while the row lives and mean nothing elsewhere. Everything that leaves a table
in an order (``scan``, ``rows_below``) leaves it by hash, so what a caller sees is a function of the rows alone, not of
how they came. Whatever is read is verified first; what does not match its check raises CopyDamaged and is never used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model import BadInput
from whimbrel.state import columns, heap_kernels, index_kernels, least, row_kernels
from whimbrel.state.area import Area
from whimbrel.state.damage import CopyDamaged
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.layout import FIRST, SECOND, Layout, Place

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_EVERYTHING = np.uint64(0xFFFFFFFFFFFFFFFF)


def _nothing() -> None:
    return None


class KeyedTable:
    """A table of keys and values for the bins of one slot; ``bits`` of the hash say the bin.

    With a directory the arrays are files in it. The small rest (counters, regions, free lists) is in memory and is
    saved by whoever owns the directory: see ``parts`` and ``restore``.
    """

    def __init__(self, key: pa.Schema, value: pa.Schema, bits: int = 8, directory: Path | None = None) -> None:
        self.layout, self.bits, self.bins = Layout(key, value), bits, 1 << bits
        self.areas = {name: Area(None if directory is None else directory / name) for name in ("rows", "index", "heap")}
        self.before_change: Callable[[], None] = _nothing
        self.on_damage: Callable[[], None] = _nothing
        self.where = "the table in memory" if directory is None else str(directory)
        self.clear()

    def clear(self) -> None:
        """Forgets every row."""
        self.counters = np.zeros(row_kernels.COUNTERS, np.int64)
        self.counters[row_kernels.HEAP] = 1
        self.regions = np.zeros((self.bins, index_kernels.REGION_FIELDS), np.int64)
        self.regions[:, index_kernels.LOG] = -1
        self.region_lists = np.zeros(64, np.int64)
        self.block_lists = np.zeros(heap_kernels.CLASSES, np.int64)
        self.marks = np.zeros(len(self.rows), np.uint8)
        self.changed: list[Rows] = []
        self.removed: list[KeyHashes] = []
        self.least: dict[str, least.LeastValues] = {}

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The array of rows."""
        words = self.areas["rows"].words
        width = self.layout.width
        return words[: len(words) // width * width].reshape(-1, width)

    @property
    def index(self) -> Rows:
        """The words of the index."""
        return self.areas["index"].words

    @property
    def heap(self) -> Rows:
        """The words of the heap."""
        return self.areas["heap"].words

    @property
    def used(self) -> int:
        """How many row numbers have ever been given out."""
        return int(self.counters[row_kernels.ROWS])

    @property
    def count(self) -> int:
        """How many rows the table holds."""
        return int(self.counters[row_kernels.LIVE])

    @property
    def bytes(self) -> int:
        """How much room the table takes, with what is free inside it."""
        return sum(area.room_bytes for area in self.areas.values()) + sum(
            w.area.room_bytes for w in self.least.values()
        )

    def counts(self) -> Rows:
        """How many rows each bin has."""
        return self.regions[:, index_kernels.LIVING].copy()

    def sizes(self) -> Rows:
        """How many bytes of state each bin has, which is what its rows and values take in a transfer."""
        return self.regions[:, index_kernels.BYTES].copy()

    def find(self, hashes: KeyHashes) -> Rows:
        """The row of every key, -1 where the table does not have it."""
        out, touched = np.empty(len(hashes), np.int64), np.empty(1, np.int64)
        bad = index_kernels.find_rows(
            self.index, self.regions, self.rows, self.used, self.bits, hashes.first, hashes.second, out, touched
        )
        self.sound(bad < 0, "the way to a key")
        return out

    def ensure(self, hashes: KeyHashes, keys: pa.RecordBatch) -> tuple[Rows, Mask]:
        """The row of every key, made where it is missing; and which of the keys were made here.

        A key that comes twice gets one row and is fresh once. The key columns of fresh rows are stored; their
        values are null.
        """
        rows, fresh = self.make_rows(hashes)
        if fresh.any():
            new = np.flatnonzero(fresh)
            columns.write_columns(self, rows[new], keys.take(pa.array(new)), self.layout.key.names)
            self.seal(rows[new])
        return rows, fresh

    def make_rows(self, hashes: KeyHashes) -> tuple[Rows, Mask]:
        """The row of every key, without key or values where it was missing: the caller fills and seals it."""
        self.before_change()
        rows = self.find(hashes)
        fresh = np.zeros(len(hashes), np.bool_)
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            absent = hashes.take(missing) if len(missing) < len(hashes) else hashes
            group, first = group_rows(absent)
            rows[missing] = self.insert(absent.take(first))[group]
            fresh[missing[first]] = True
        return rows, fresh

    def insert(self, hashes: KeyHashes) -> Rows:
        """Makes rows for keys that are known to be distinct and not in the table; the caller fills and seals them."""
        count = len(hashes)
        if count > self.bins:
            self.expect(np.bincount(hashes.bins(self.bits), minlength=self.bins))
        self.reserve_rows(self.count + count)
        out, start = np.empty(count, np.int64), 0
        while start < count:
            start = index_kernels.insert_rows(
                self.index, self.regions, self.rows, self.counters, self.region_lists, self.bits,
                hashes.first, hashes.second, start, out,
            )  # fmt: skip
            if start < count:
                self._grow_for(int(self.counters[row_kernels.STATUS]), count - start)
        return out

    def expect(self, coming: Rows) -> None:
        """Makes room at once for so many new rows per bin, which then need not make it bit by bit."""
        total, start = int(coming.sum()), 0
        self.reserve_rows(self.count + total)
        while start < self.bins:
            start = index_kernels.expect_rows(self.index, self.counters, self.regions, self.region_lists, coming, start)
            if start < self.bins:
                self._grow_for(int(self.counters[row_kernels.STATUS]), total)

    def read(self, rows: Rows, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """These columns of the rows, or all: the key columns, then the values."""
        self.verify(rows)
        places = self.layout.places if names is None else [self.layout.place(name) for name in names]
        arrays = [columns.read_column(self, rows, place) for place in places]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([(p.name, p.kind) for p in places]))

    def write(self, rows: Rows, values: pa.RecordBatch) -> None:
        """Gives the rows new values in the columns of the batch. Raises BadInput for a key column or a wrong type."""
        keys = set(self.layout.key.names) & set(values.schema.names)
        if keys:
            raise BadInput(
                f"column {sorted(keys)[0]!r} belongs to the key and cannot be written: delete the row instead"
            )
        self.before_change()
        self.verify(rows)
        columns.write_columns(self, rows, values, values.schema.names)
        self.seal(rows)

    def ints(self, name: str) -> npt.NDArray[np.int64]:
        """The column's words for all rows, to be changed in place at the rows of interest; then ``touch`` those.

        The view is good until the next call that makes rows. For integers, booleans, dates, times and timestamps.
        """
        place = self._fixed(name)
        if pa.types.is_floating(place.kind) or place.words != 1:
            raise BadInput(f"column {name!r} holds {place.kind}, not whole numbers: use read and write")
        self.before_change()
        return self.rows[:, place.word]

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """The column of doubles for all rows, as ``ints``. Raises BadInput for any other type."""
        place = self._fixed(name)
        if place.kind != pa.float64():
            raise BadInput(f"column {name!r} holds {place.kind}, not double: use read and write")
        self.before_change()
        return self.rows.view(np.float64)[:, place.word]

    def valid(self, rows: Rows, name: str) -> Mask:
        """In which of the rows the column is not null."""
        place = self.layout.place(name)
        return ((self.rows[rows, place.null_word] >> place.null_bit) & 1).astype(np.bool_)

    def set_valid(self, rows: Rows, name: str, mask: Mask) -> None:
        """Says of a fixed-width column in which rows it is null; ``touch`` the rows afterwards."""
        place = self._fixed(name)
        self.before_change()
        bit = np.int64(1) << np.int64(place.null_bit)
        words = self.rows[rows, place.null_word]
        self.rows[rows, place.null_word] = np.where(mask, words | bit, words & ~bit)

    def touch(self, rows: Rows) -> None:
        """Says that these rows were changed in place: they get new check words and are written at the next commit."""
        self.before_change()
        self.seal(rows)

    def seal(self, rows: Rows) -> None:
        """What ``touch`` does, for a change that has been announced."""
        changed = np.empty(len(rows), np.int64)
        found = row_kernels.seal_rows(self.rows, rows, self.layout.columns, self.used, self.marks, changed)
        self.sound(found >= 0, "a row that was changed")
        if found:
            self.changed.append(changed[:found])
        for watched in self.least.values():
            watched.lower(self, rows)

    def delete(self, rows: Rows) -> None:
        """Removes the rows; one that is named twice, or is gone already, is no matter."""
        rows = self._living(rows)
        if len(rows):
            self.before_change()
            self.removed.append(self.hashes_of(rows))
            self.discard(rows)

    def discard(self, rows: Rows) -> None:
        """Removes living rows without a trace in the journal."""
        self.verify(rows)
        if len(self.layout.references):
            bad = heap_kernels.drop_all(
                self.rows, rows, self.layout.references, self.heap, self.counters, self.block_lists, self.regions,
                self.bits,
            )  # fmt: skip
            self.sound(bad < 0, "a value of a row to delete")
        bad = index_kernels.remove_rows(
            self.index, self.regions, self.rows, self.counters, self.region_lists, self.bits, rows, self.marks
        )
        self.sound(bad < 0, "the way to a row to delete")

    def scan(self, bins: Sequence[int] | npt.NDArray[np.int64] | None = None) -> Rows:
        """The rows of these bins, or of all, by bin and hash."""
        chosen = np.arange(self.bins) if bins is None else np.unique(np.asarray(bins, np.int64))
        return self._walk(chosen, np.uint64(0), _EVERYTHING)

    def scan_range(self, low: int, high: int) -> Rows:
        """The rows with low <= first hash <= high, by hash."""
        shift = 64 - self.bits
        return self._walk(np.arange(low >> shift, (high >> shift) + 1), np.uint64(low), np.uint64(high))

    def rows_below(self, column: str, bound: int) -> Rows:
        """The rows whose value in a whole-number column is below the bound, by hash; nulls never are.

        The first call looks at every row, later ones only at the chunks of rows that hold a value below the bound.
        """
        place = self._fixed(column)
        if pa.types.is_floating(place.kind) or place.words != 1:
            raise BadInput(f"column {column!r} holds {place.kind}: only whole numbers and times can fall due")
        if column not in self.least:
            self.least[column] = least.LeastValues(place)
        return self.by_hash(self.least[column].due(self, int(bound)))

    def by_hash(self, rows: Rows) -> Rows:
        """These rows in the order of their hashes."""
        hashes = self.hashes_of(rows)
        order = np.argsort(hashes.first)
        if (np.diff(hashes.first[order]) == 0).any():
            order = np.lexsort((hashes.second, hashes.first))
        return rows[order]

    def hashes_of(self, rows: Rows) -> KeyHashes:
        """The hashes that the rows are found by."""
        table = self.rows
        return KeyHashes(table[rows, FIRST].view(np.uint64), table[rows, SECOND].view(np.uint64))

    def verify(self, rows: Rows) -> None:
        """Raises CopyDamaged unless all are living rows with the right check words."""
        self.sound(row_kernels.verify_rows(self.rows, rows, self.used) < 0, "a row")

    def sound(self, fine: bool, what: str) -> None:
        """Raises CopyDamaged unless ``fine``."""
        if not fine:
            self.on_damage()
            raise CopyDamaged(f"{what} in {self.where} does not match its check")

    def reserve(self, name: str, words: int) -> None:
        """Grows an area. A full disk is as bad as a damaged file: the copy is given up, and CopyDamaged raised."""
        try:
            self.areas[name].reserve(words)
        except OSError as problem:
            self.on_damage()
            raise CopyDamaged(f"{self.where} cannot grow: {problem}") from None

    def reserve_rows(self, count: int) -> None:
        """Makes room for that many rows."""
        self.reserve("rows", count * self.layout.width)
        self._sized()

    def take_changed(self) -> Rows:
        """The rows that were changed since the last time, by hash."""
        if not self.changed:
            return np.empty(0, np.int64)
        rows = np.concatenate(self.changed)
        found = row_kernels.take_marked(rows, self.marks)
        self.changed.clear()
        return self.by_hash(rows[:found])

    def parts(self) -> dict[str, npt.NDArray[np.int64]]:
        """What must be kept beside the files to open them again."""
        return {
            "counters": self.counters,
            "regions": self.regions,
            "region_lists": self.region_lists,
            "block_lists": self.block_lists,
        }

    def restore(self, parts: dict[str, Any]) -> None:
        """Takes up the files as they were when ``parts`` were kept."""
        for area in self.areas.values():
            area.refresh()
        self.clear()
        self.counters, self.regions = parts["counters"], parts["regions"].reshape(self.bins, -1)
        self.region_lists, self.block_lists = parts["region_lists"], parts["block_lists"]
        fits = self.used <= len(self.rows) and self.counters[row_kernels.HEAP] <= max(1, len(self.heap))
        self.sound(bool(fits and self.counters[row_kernels.TAIL] * 8 <= len(self.index)), "the length of a file")

    def close(self) -> None:
        """Gives the files back."""
        for area in self.areas.values():
            area.close()

    def _fixed(self, name: str) -> Place:
        place = self.layout.place(name)
        if place.by_reference:
            raise BadInput(f"column {name!r} holds {place.kind}, whose width varies: use read and write")
        return place

    def _grow_for(self, status: int, missing: int) -> None:
        if status == row_kernels.WANTS_ROWS:
            self.reserve_rows(self.used + min(missing, max(1024, self.used)))
        elif status == row_kernels.WANTS_INDEX:
            self.reserve("index", len(self.index) * 2 + 4096)
        else:
            self.sound(False, "the index")

    def _sized(self) -> None:
        room = len(self.rows)
        if room > len(self.marks):
            marks = np.zeros(room, np.uint8)
            marks[: len(self.marks)] = self.marks
            self.marks = marks

    def _living(self, rows: Rows) -> Rows:
        rows = np.sort(np.asarray(rows, np.int64))
        rows = rows[np.diff(rows, prepend=-1) != 0]
        self.sound(len(rows) == 0 or (rows[0] >= 0 and rows[-1] < self.used), "a row to delete")
        return rows[self.rows[rows, 3] < 0]

    def _walk(self, bins: npt.NDArray[np.int64], low: np.uint64, high: np.uint64) -> Rows:
        out = np.empty(int(self.regions[bins, index_kernels.LIVING].sum()), np.int64)
        firsts = np.empty(len(out), np.uint64)
        found = index_kernels.walk_rows(
            self.index, self.regions, self.rows, self.used, self.bits, bins, low, high, out, firsts
        )
        self.sound(found >= 0, "the index of a bin")
        return out[:found]
