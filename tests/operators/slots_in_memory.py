"""An operator on a few slots in memory, epoch by epoch, with bins that move between any two of them.

Everything but Spark is real: the operator, its map-side work, its ledgers, exports and installs. As in a stream the
old slot keeps a bin for one epoch after it has left, so an operator that looks at bins it no longer holds is found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from tests.operators.drawing import Turn

from whimbrel.model.durations import milliseconds
from whimbrel.runtime.operator import Operator, Rows, SlotCall
from whimbrel.runtime.operators.event_time import micros_of
from whimbrel.runtime.packing import as_batch
from whimbrel.state.hashing import KeyHashes, hash_keys
from whimbrel.state.ledger import SlotLedger
from whimbrel.testing import MemoryBackend

BITS, SLOTS = 3, 3
_NONE = KeyHashes(np.zeros(0, np.uint64), np.zeros(0, np.uint64))


class Slots:
    """Runs epochs; ``emitted`` are all rows so far, ``late`` how many were dropped, ``migrations`` the steps."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.owner = np.arange(1 << BITS) % SLOTS
        self.stamp = np.zeros(1 << BITS, np.int64)
        self.backends = [MemoryBackend() for _ in range(SLOTS)]
        self.in_flight: dict[int, tuple[int, int, bytes]] = {}
        self.kept: list[tuple[int, int]] = []
        self.watermark_ms = self.late_ms = self.epoch = 0
        self.newest = [0] * len(operator.sides)
        self.emitted: list[dict[str, Any]] = []
        self.migrations = 0

    def run(
        self, *tables: pa.Table, moves: Mapping[int, int] | Turn | None = None, now_ms: int = 0
    ) -> list[dict[str, Any]]:
        """One epoch over one table per side; ``moves`` (bin to slot) leave at its end. Returns what it emitted."""
        sides = [self._routed(side, as_batch(table.combine_chunks())) for side, table in enumerate(tables)]
        chosen = moves.moves(self.epoch, self.owner, SLOTS) if isinstance(moves, Turn) else moves or {}
        leaving = {b: slot for b, slot in chosen.items() if self.owner[b] != slot and b not in self.in_flight}
        exports: dict[int, tuple[int, int, bytes]] = {}
        found: list[dict[str, Any]] = []
        for slot in range(SLOTS):
            ledger = self._open(self.backends[slot])
            self._settle(slot, ledger)
            found += self._process(slot, ledger, [side[slot] for side in sides], now_ms)
            for b, target in leaving.items():
                if self.owner[b] == slot:
                    exports[b] = (slot, target, ledger.export([b]))
            ledger.commit(self.epoch)
        self._advance(tables, exports)
        self.emitted += found
        return found

    def restart(self, operator: Operator) -> None:
        """Goes on with another operator, which has the tables of this one and more; nothing may be on its way."""
        assert not self.in_flight
        operator.earlier = [*self.operator.earlier, list(self.operator.tables())]
        self.operator = operator

    def _open(self, backend: MemoryBackend) -> SlotLedger:
        return SlotLedger.open(backend, list(self.operator.tables()), BITS, earlier=self.operator.earlier)

    @property
    def late(self) -> int:
        """Rows dropped as too late, in all slots."""
        ledgers = [self._open(b) for b in self.backends]
        return sum(ledger.notes.get("late_rows", 0) for ledger in ledgers)

    def rows_of(self, table: str) -> int:
        """How many rows a table holds in the slots that own them."""
        total = 0
        for slot, backend in enumerate(self.backends):
            held = self._open(backend).table(table)
            total += len(held.scan(np.flatnonzero(self.owner == slot)))
        return total

    def _routed(self, side: int, batch: pa.RecordBatch) -> list[Rows]:
        spec = self.operator.sides[side]
        parts: list[list[pa.RecordBatch]] = [[] for _ in range(SLOTS)]
        middle = batch.num_rows // 2
        for piece in (batch.slice(0, middle), batch.slice(middle)):
            if piece.num_rows:
                chosen = piece.select(list(spec.columns))
                hashes = hash_keys([chosen.column(key) for key in spec.keys])
                rows = self.operator.prepare(side, Rows(chosen, hashes))
                slots = self.owner[rows.hashes.bins(BITS)]
                for slot in range(SLOTS):
                    parts[slot].append(rows.batch.filter(pa.array(slots == slot)))
        return [_rows(held, spec.keys) for held in parts]

    def _settle(self, slot: int, ledger: SlotLedger) -> None:
        for b, kept in self.kept:
            if kept == slot:
                ledger.release([b])
        for b, (_, target, data) in self.in_flight.items():
            if target == slot:
                ledger.install(data, [b], int(self.stamp[b]), "memory")
        born = [b for b in np.flatnonzero(self.owner == slot) if int(b) not in ledger.owned]
        ledger.adopt(born, 0)

    def _process(self, slot: int, ledger: SlotLedger, sides: Sequence[Rows], now_ms: int) -> list[dict[str, Any]]:
        held = self.owner == slot
        call = SlotCall(slot, self.epoch, BITS, tuple(sides), ledger, self.watermark_ms, now_ms, self.late_ms, held)
        return [row for batch in self.operator.process(call) for row in batch.to_pylist()]

    def _advance(self, tables: Sequence[pa.Table], exports: dict[int, tuple[int, int, bytes]]) -> None:
        for b, (source, target, _) in exports.items():
            self.owner[b], self.stamp[b] = target, self.epoch + 1
        self.migrations += bool(exports)
        self.kept = [(b, source) for b, (source, _, _) in self.in_flight.items()]
        self.in_flight = exports
        self.epoch += 1
        self.late_ms = self.watermark_ms
        marks = []
        for side, (spec, table) in enumerate(zip(self.operator.sides, tables, strict=True)):
            delay = spec.delay or self.operator.delay
            if spec.time is not None and delay is not None:
                times = [t for chunk in table.column(spec.time).chunks for t in micros_of(chunk).to_pylist()]
                known = [t // 1000 for t in times if t is not None]
                self.newest[side] = max([*known, self.newest[side]])
                marks.append(max(0, self.newest[side] - milliseconds(delay)))
        self.watermark_ms = max(self.watermark_ms, min(marks, default=0))


def _rows(held: Sequence[pa.RecordBatch], keys: Sequence[str]) -> Rows:
    if not held:
        return Rows(pa.RecordBatch.from_pylist([], schema=pa.schema([])), _NONE)
    batch = as_batch(pa.Table.from_batches(held))
    return Rows(batch, hash_keys([batch.column(key) for key in keys]))
