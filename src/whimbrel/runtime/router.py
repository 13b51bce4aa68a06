"""The router (Megaphone's F): rows in, payloads per slot out, under the assignment sealed for this epoch.

Runs inside ``mapInArrow``, once per input partition. Vectorised over Arrow batches; chunks bound its memory.
Partition 0 also calls every slot that must run though no row may reach it: a slot with bins, or with bins on
their way in or out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.control import faults
from whimbrel.control.activity import mark_rows
from whimbrel.control.seal import Seal
from whimbrel.model.faults import ROWS_ROUTED
from whimbrel.runtime.operator import Operator, Rows
from whimbrel.runtime.packing import CALL, ROUTED, as_batch, pack, pack_counts, split_by_slot
from whimbrel.runtime.place import JobPlace
from whimbrel.runtime.task import TaskFacts
from whimbrel.runtime.tokens import slot_tokens
from whimbrel.state.hashing import hash_keys

CHUNK_ROWS = 1 << 22
CHUNK_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Router:
    """The function that ``mapInArrow`` runs over the input ``side``."""

    place: JobPlace
    operator: Operator
    side: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Route one partition of one epoch."""
        task = TaskFacts.here()
        self.place.check_partitions(task.shuffle_partitions)
        seal = self.place.seal(task.epoch, task.query_id)
        work = _Routing.begin(self.place, self.operator, seal, task.partition, self.side)
        for batch in batches:
            yield from work.take(batch)
        yield from work.finish()
        if self.operator.delay is not None and work.counts.any():
            mark_rows(self.place.store, task.epoch)
        faults.reached(ROWS_ROUTED, task.epoch)


@dataclass(slots=True)
class _Routing:
    """One partition's pass: the chunk that is filling up, and what has been counted so far."""

    operator: Operator
    owner: np.ndarray[Any, np.dtype[np.int32]]
    bits: int
    tokens: tuple[int, ...]
    mapper: int
    calls: tuple[int, ...]
    side: int
    counts: np.ndarray[Any, np.dtype[np.int64]]
    chunk: list[pa.RecordBatch] = field(default_factory=list)
    schema: pa.Schema | None = None
    latest: datetime | None = None
    sequence: int = 0
    rows_held: int = 0
    bytes_held: int = 0
    out: list[tuple[int, int, int, int, bytes, datetime | None]] = field(default_factory=list)

    @staticmethod
    def begin(place: JobPlace, operator: Operator, seal: Seal, mapper: int, side: int) -> _Routing:
        stamped = place.seals.assignment(seal.assignment)
        owner = np.array(stamped.assignment.owner, np.int32)
        return _Routing(
            operator,
            owner,
            place.settings.bin_bits,
            slot_tokens(place.settings.max_slots),
            mapper,
            _calls(seal, owner, operator, place.settings.max_slots) if mapper == 0 else (),
            side,
            np.zeros(owner.size, np.int64),
        )

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Hold a batch; once a chunk is full, send it."""
        if not batch.num_rows:
            return
        self.chunk.append(batch)
        self.rows_held += batch.num_rows
        self.bytes_held += batch.nbytes
        if self.rows_held >= CHUNK_ROWS or self.bytes_held >= CHUNK_BYTES:
            self._route_chunk()
            yield self._flush()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Send what is held, the counts, the calls and the latest event time."""
        self._route_chunk()
        self._send_counts()
        for slot in self.calls:
            self._send(slot, CALL, b"")
        if self.latest is not None:
            self.out.append((self.tokens[0], self.mapper, self._next(), CALL, b"", self.latest))
        if self.out:
            yield self._flush()

    def _route_chunk(self) -> None:
        held = self.chunk
        if held:
            self._route(held[0] if len(held) == 1 else as_batch(pa.Table.from_batches(held)))
        held.clear()
        self.rows_held = self.bytes_held = 0

    def _route(self, batch: pa.RecordBatch) -> None:
        spec = self.operator.sides[self.side]
        self._note_time(batch, spec.time)
        batch = batch.select(list(spec.columns))
        hashes = hash_keys([batch.column(key) for key in spec.keys])
        self.counts += np.bincount(hashes.bins(self.bits), minlength=self.counts.size)
        rows = self.operator.prepare(self.side, Rows(batch, hashes))
        self.schema = rows.batch.schema
        order, ranges = split_by_slot(self.owner[rows.hashes.bins(self.bits)])
        arranged = rows.batch if len(ranges) == 1 else rows.batch.take(pa.array(order))
        for slot, (start, end) in ranges.items():
            for payload in pack(arranged.slice(start, end - start)):
                self._send(slot, self.side, payload)

    def _note_time(self, batch: pa.RecordBatch, column: str | None) -> None:
        latest = pc.max(batch.column(column)).cast(pa.timestamp("us", tz="UTC")).as_py() if column else None
        if latest is not None and (self.latest is None or latest > self.latest):
            self.latest = latest

    def _send_counts(self) -> None:
        if self.schema is None:
            return
        counted = np.flatnonzero(self.counts)
        for slot in np.unique(self.owner[counted]):
            bins = counted[self.owner[counted] == slot]
            self._send(int(slot), self.side, pack_counts(self.schema, bins, self.counts[bins]))

    def _send(self, slot: int, side: int, payload: bytes) -> None:
        self.out.append((self.tokens[slot], self.mapper, self._next(), side, payload, None))

    def _next(self) -> int:
        self.sequence += 1
        return self.sequence

    def _flush(self) -> pa.RecordBatch:
        columns: list[tuple[Any, ...]] = list(zip(*self.out, strict=True)) or [()] * len(ROUTED)
        self.out = []
        arrays = [pa.array(values, type=field.type) for values, field in zip(columns, ROUTED, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=ROUTED)


def _calls(
    seal: Seal, owner: np.ndarray[Any, np.dtype[np.int32]], operator: Operator, max_slots: int
) -> tuple[int, ...]:
    # With event time even a slot without bins runs: it must know the watermark of the epoch before any bin arrives.
    return slots_to_call(seal, owner) if operator.delay is None else tuple(range(max_slots))


def slots_to_call(seal: Seal, owner: np.ndarray[Any, np.dtype[np.int32]]) -> tuple[int, ...]:
    """The slots whose host must run in this epoch, ascending."""
    moved = (*seal.leaving.moves, *seal.arriving.moves, *seal.releasing.moves)
    return tuple(sorted({*np.unique(owner).tolist(), *(move.source for move in moved)}))
