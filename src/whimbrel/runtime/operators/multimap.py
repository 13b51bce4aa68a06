"""A keyed table with many rows per key: what joins remember and what sessions are kept in.

The rows of a key are numbered as they come; a second table holds the range of numbers in use and how many rows live.
Both lie in the key's bin and move with it. Numbers of rows that were removed leave holes, and a key without rows is
forgotten whole. The lower end of a range is always a living row, so taking rows away, the oldest first, costs what is
taken and not what stays. A lookup passes over the holes between a key's oldest row and its newest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model.errors import Damaged
from whimbrel.runtime.operator import SlotCall
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import KeyHashes, hash_keys, rehash
from whimbrel.state.ledger import TableSpec

NUMBER, LOW, HIGH, LIVING = "_number", "_low", "_high", "_living"
_RANGE = (LOW, HIGH, LIVING)
Index = npt.NDArray[np.int64]


def multimap_specs(
    name: str, keys: pa.Schema, values: pa.Schema, defaults: Mapping[str, Any] | None = None
) -> list[TableSpec]:
    """The two tables of a multimap."""
    heads = TableSpec(f"{name}.keys", keys, pa.schema([(column, pa.int64()) for column in _RANGE]))
    return [heads, TableSpec(f"{name}.rows", pa.schema([*keys, (NUMBER, pa.int64())]), values, defaults or {})]


class Multimap:
    """The multimap ``name`` of a call's ledger."""

    def __init__(self, call: SlotCall, name: str, keys: pa.Schema) -> None:
        self.rows = call.ledger.table(f"{name}.rows")
        self._heads = call.ledger.table(f"{name}.keys")
        self._keys, self._bits = keys, call.bits

    def lookup(self, hashes: KeyHashes) -> tuple[Index, Index]:
        """All (position among the hashes, place of a row of that key), by position and age."""
        heads = self._heads.find(hashes)
        known = np.flatnonzero(heads >= 0)
        low, high, _ = self._ranges(heads[known])
        counts = high - low
        owner = np.repeat(known, counts)
        number = np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(low, counts)
        places = self.rows.find(rehash(hashes.take(owner), [pa.array(number)], self._bits))
        return owner[places >= 0], places[places >= 0]

    def add(self, hashes: KeyHashes, keys: pa.RecordBatch, values: pa.RecordBatch) -> Index:
        """Adds a row per hash; returns their places."""
        if not len(hashes):
            return np.zeros(0, np.int64)
        group, first = group_rows(hashes)
        names = self._keys.names
        heads, fresh = self._heads.ensure(hashes.take(first), keys.select(names).take(pa.array(first)))
        low, high, living = self._ranges(heads)
        low[fresh] = high[fresh] = living[fresh] = 0
        counts = np.bincount(group, minlength=first.size)
        self._set_ranges(heads, low, high + counts, living + counts)
        number = pa.array(high[group] + _rank_within(group, counts))
        whole = pa.RecordBatch.from_arrays([*keys.select(names).columns, number], names=[*names, NUMBER])
        places, _ = self.rows.ensure(rehash(hashes, [number], self._bits), whole)
        self.rows.write(places, values)
        return places

    def remove(self, places: Index) -> None:
        """Removes rows, and the keys that have none left."""
        if not places.size:
            return
        hashes = hash_keys(self.rows.read(places, self._keys.names).columns)
        group, first = group_rows(hashes)
        hashes = hashes.take(first)
        self.rows.delete(places)
        heads = self._heads.find(hashes)
        low, high, living = self._ranges(heads)
        living -= np.bincount(group, minlength=first.size)
        used = living > 0
        low[used] = self._first_living(hashes.take(used), low[used], high[used])
        self._heads.delete(heads[~used])
        self._set_ranges(heads[used], low[used], high[used], living[used])

    def _first_living(self, hashes: KeyHashes, low: Index, high: Index) -> Index:
        # A number that was passed over is never looked at again, and each step looks at most at twice as many more.
        found, waiting, step = low.copy(), np.arange(low.size), 1
        while waiting.size:
            if bool(np.any(found[waiting] >= high[waiting])):
                raise Damaged("a key counts more rows than it has; restore the checkpoint")
            numbers = (found[waiting, None] + np.arange(step)).reshape(-1)
            owners = hashes.take(np.repeat(waiting, step))
            here = self.rows.find(rehash(owners, [pa.array(numbers)], self._bits)).reshape(-1, step) >= 0
            ended = here.any(axis=1)
            found[waiting] += np.where(ended, here.argmax(axis=1), step)
            waiting, step = waiting[~ended], 2 * step
        return found

    def _ranges(self, heads: Index) -> tuple[Index, Index, Index]:
        read = self._heads.read(heads, list(_RANGE))
        low, high, living = (column.fill_null(0).to_numpy().copy() for column in read.columns)
        return low, high, living

    def _set_ranges(self, heads: Index, low: Index, high: Index, living: Index) -> None:
        self._heads.write(heads, pa.record_batch([pa.array(low), pa.array(high), pa.array(living)], list(_RANGE)))


def _rank_within(group: Index, counts: Index) -> Index:
    order = np.argsort(group, kind="stable")
    rank = np.empty(group.size, np.int64)
    rank[order] = np.arange(group.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank
