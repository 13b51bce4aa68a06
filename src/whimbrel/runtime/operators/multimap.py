"""A keyed table with many rows per key: what joins remember and what sessions are kept in.

The rows of a key are numbered as they come; a second table holds the range of numbers in use. Both lie in the key's
bin and move with it. Numbers of rows that were removed leave holes, and a key without rows is forgotten whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.runtime.operator import SlotCall
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import KeyHashes, hash_keys, rehash
from whimbrel.state.ledger import TableSpec

NUMBER, LOW, HIGH = "_number", "_low", "_high"
Index = npt.NDArray[np.int64]


def multimap_specs(
    name: str, keys: pa.Schema, values: pa.Schema, defaults: Mapping[str, Any] | None = None
) -> list[TableSpec]:
    """The two tables of a multimap."""
    heads = TableSpec(f"{name}.keys", keys, pa.schema([(LOW, pa.int64()), (HIGH, pa.int64())]))
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
        low, high = self._ranges(heads[known])
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
        low, high = self._ranges(heads)
        low[fresh] = high[fresh] = 0
        counts = np.bincount(group, minlength=first.size)
        self._set_ranges(heads, low, high + counts)
        number = pa.array(high[group] + _rank_within(group, counts))
        whole = pa.RecordBatch.from_arrays([*keys.select(names).columns, number], names=[*names, NUMBER])
        places, _ = self.rows.ensure(rehash(hashes, [number], self._bits), whole)
        self.rows.write(places, values)
        return places

    def remove(self, places: Index) -> None:
        """Removes rows, and the keys that have none left."""
        if not places.size:
            return
        keys = self.rows.read(places, self._keys.names)
        hashes = hash_keys(keys.columns)
        hashes = hashes.take(group_rows(hashes)[1])
        self.rows.delete(places)
        heads = self._heads.find(hashes)
        owner, left = self.lookup(hashes)
        numbers = self.rows.read(left, [NUMBER]).column(0).to_numpy()
        low = np.full(heads.size, np.iinfo(np.int64).max)
        np.minimum.at(low, owner, numbers)
        used = np.bincount(owner, minlength=heads.size) > 0
        self._heads.delete(heads[~used])
        self._set_ranges(heads[used], low[used], self._ranges(heads[used])[1])

    def _ranges(self, heads: Index) -> tuple[Index, Index]:
        read = self._heads.read(heads, [LOW, HIGH])
        return read.column(0).fill_null(0).to_numpy().copy(), read.column(1).fill_null(0).to_numpy().copy()

    def _set_ranges(self, heads: Index, low: Index, high: Index) -> None:
        self._heads.write(heads, pa.record_batch([pa.array(low), pa.array(high)], [LOW, HIGH]))


def _rank_within(group: Index, counts: Index) -> Index:
    order = np.argsort(group, kind="stable")
    rank = np.empty(group.size, np.int64)
    rank[order] = np.arange(group.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank
