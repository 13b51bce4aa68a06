"""Post-dated records: work that an operator has set for a later time, kept as part of its bin's state.

Each record is a row of an ordinary table, under the key's hash joined with the record's sequence number, so records live
in the bin of their key, are journaled and move with it. Sequence numbers count per bin and move with the bin too (one
row per bin holds the next number), so records that are due at one time leave in the order in which they were set.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model import BadInput
from whimbrel.state.backend import TableSpec
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import KeyHashes, rehash
from whimbrel.state.table import KeyedTable

TIME, BIN, SEQUENCE, NEXT = "_time", "_bin", "_sequence", "_next"
_COUNTER = -1


def postdated_spec(name: str, record: pa.Schema) -> TableSpec:
    """The table that holds post-dated records of this schema."""
    own = pa.schema([(TIME, pa.int64()), (NEXT, pa.int64())])
    return TableSpec(name, pa.schema([(SEQUENCE, pa.int64())]), pa.schema([*own, *record]))


class PostDated:
    """The post-dated records in a ledger's table that was declared with ``postdated_spec``."""

    def __init__(self, table: KeyedTable) -> None:
        if SEQUENCE not in table.layout.key.names:
            raise BadInput("the table was not declared for post-dated records: declare it with postdated_spec")
        self.table = table
        self._record = pa.schema([field for field in table.layout.value if field.name not in (TIME, NEXT)])

    @property
    def count(self) -> int:
        """How many records are waiting."""
        return self.table.count - int((self._counter_rows() >= 0).sum())

    def schedule(self, hashes: KeyHashes, times: npt.NDArray[np.int64] | pa.Array, records: pa.RecordBatch) -> None:
        """Sets record i, of the key with hash i, for time i. Times are whole numbers, or Arrow times in their own unit."""
        if not len(hashes):
            return
        when = pa.array(times, pa.int64()) if isinstance(times, np.ndarray) else times.cast(pa.int64())
        if when.null_count or len(when) != len(hashes) or records.num_rows != len(hashes):
            raise BadInput(
                f"{len(hashes)} hashes, {len(when)} times ({when.null_count} of them null) and {records.num_rows} "
                "records do not make post-dated records: give one of each"
            )
        sequence = pa.array(self._take_numbers(hashes.bins(self.table.bits)))
        rows, fresh = self.table.ensure(
            rehash(hashes, [sequence], self.table.bits), pa.record_batch([sequence], [SEQUENCE])
        )
        if not fresh.all():
            raise BadInput("two post-dated records have one identity: the keys' hashes are not what the bins say")
        columns = [records.column(name) for name in self._record.names]
        self.table.write(rows, pa.record_batch([when, *columns], [TIME, *self._record.names]))

    def due(self, bound: int) -> pa.RecordBatch:
        """Removes the records whose time is before ``bound`` and returns them in the order of (time, bin, sequence).

        The columns are ``_time``, ``_bin``, ``_sequence`` and those of the record.
        """
        rows = self.table.rows_below(TIME, bound)
        batch = self.table.read(rows, [TIME, SEQUENCE, *self._record.names])
        bins = self.table.hashes_of(rows).bins(self.table.bits)
        order = np.lexsort((batch.column(1).to_numpy(), bins, batch.column(0).to_numpy()))
        columns = [batch.column(0), pa.array(bins), *batch.columns[1:]]
        self.table.delete(rows)
        names = [TIME, BIN, SEQUENCE, *self._record.names]
        return pa.RecordBatch.from_arrays(columns, names).take(pa.array(order))

    def next_time(self) -> int | None:
        """The earliest time of any record, or None; reads all of them."""
        rows = self.table.scan()
        times = self.table.read(rows, [TIME]).column(0).drop_null()
        return min(times.to_pylist(), default=None)

    def _take_numbers(self, bins: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        hashes = self._counter_hashes(bins)
        group, first = group_rows(hashes)
        counters, fresh = self.table.ensure(
            hashes.take(first), pa.record_batch([pa.array(np.full(len(first), _COUNTER))], [SEQUENCE])
        )
        following = self.table.ints(NEXT)
        following[counters[fresh]] = 0
        order = np.argsort(group, kind="stable")
        within = np.empty(len(bins), np.int64)
        counts = np.bincount(group, minlength=len(first))
        within[order] = np.arange(len(bins)) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers = following[counters][group] + within
        following[counters] += counts
        self.table.set_valid(counters, NEXT, np.ones(len(counters), np.bool_))
        self.table.touch(counters)
        return numbers

    def _counter_hashes(self, bins: npt.NDArray[np.int64]) -> KeyHashes:
        bits = self.table.bits
        tops = bins.astype(np.uint64) << np.uint64(64 - bits) if bits else np.zeros(len(bins), np.uint64)
        sequence = pa.array(np.full(len(bins), _COUNTER))
        return rehash(KeyHashes(tops, np.zeros(len(bins), np.uint64)), [sequence], bits)

    def _counter_rows(self) -> npt.NDArray[np.int64]:
        return self.table.find(self._counter_hashes(np.arange(self.table.bins)))
