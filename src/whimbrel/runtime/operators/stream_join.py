"""``join``: two streams on equal keys; inner and unbounded, or bounded in time and then also outer.

Each side remembers its rows. New rows of the right side are stored first, then those of the left meet all of the
right, then those of the right meet what the left remembered before: every pair exactly once. With event time a row
is forgotten once the watermark shows that no partner can come any more; an outer join then emits it alone if it
never had one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.runtime.operator import Operator, Side, SlotCall
from whimbrel.runtime.operators.event_time import is_late, micros_of, timed
from whimbrel.runtime.operators.multimap import Multimap, multimap_specs
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.ledger import TableSpec

LEFT, RIGHT, MATCHED = "left", "right", "_matched"
OUTER = {"inner": (), "left": (LEFT,), "right": (RIGHT,), "full": (LEFT, RIGHT)}
Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class JoinInput:
    """One side: its key columns in the order of the join, its schema, its event time and that one's delay."""

    keys: tuple[str, ...]
    schema: pa.Schema
    time: str | None = None
    delay: str | None = None

    @property
    def values(self) -> pa.Schema:
        """The columns that are no keys."""
        return pa.schema([field for field in self.schema if field.name not in self.keys])


@dataclass(frozen=True, slots=True)
class _Arrivals:
    """The rows of one side in this epoch that were not late."""

    batch: pa.RecordBatch
    hashes: KeyHashes
    matchable: Index


@dataclass(frozen=True, slots=True)
class Within:
    """Partners satisfy ``earliest_us <= right time - left time <= latest_us``."""

    earliest_us: int
    latest_us: int


class StreamJoin(Operator):
    """``how``: inner, left, right or full; ``within`` bounds the time between partners, None where there is no bound."""

    def __init__(self, name: str, left: JoinInput, right: JoinInput, how: str, within: Within | None) -> None:
        self.name, self._inputs, self._how, self._within = name, (left, right), how, within
        self.delay = None if within is None else _shortest(left.delay, right.delay)
        self.time_mode = "None" if within is None else "EventTime"
        self.sides = tuple(
            Side(i.keys, tuple(i.schema.names), i.time if within else None, i.delay if within else None)
            for i in self._inputs
        )
        self._keys = pa.schema([left.schema.field(key) for key in left.keys])
        self._output = pa.schema([*self._keys, *left.values, *right.values])
        self.output = ddl_of(self._output)

    def tables(self) -> Sequence[TableSpec]:
        """A multimap per side."""
        kept = [self._kept(i.values) for i in self._inputs]
        return [*multimap_specs(LEFT, self._keys, kept[0]), *multimap_specs(RIGHT, self._keys, kept[1])]

    def describe(self) -> dict[str, Any]:
        """Kind, how, keys and bounds."""
        bounds = None if self._within is None else [self._within.earliest_us, self._within.latest_us]
        return {"kind": "join", "how": self._how, "keys": [list(i.keys) for i in self._inputs], "within_us": bounds}

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Join the epoch's rows, then forget what can find no partner any more."""
        left, right = (self._arrivals(call, side) for side in (0, 1))
        lefts, rights = (Multimap(call, name, self._keys) for name in (LEFT, RIGHT))
        out = []
        right_places = self._store(rights, 1, right, np.zeros(right.batch.num_rows, np.bool_))
        met = np.zeros(left.batch.num_rows, np.bool_)
        if left.matchable.size:
            owner, places = self._pairs(left, 0, rights)
            met[owner] = True
            self._mark(rights, places)
            out.append(self._joined(left.batch.take(pa.array(owner)), self._read(rights, places, 1)))
        if right.matchable.size:
            owner, places = self._pairs(right, 1, lefts)
            self._mark(lefts, places)
            if right_places.size:
                self._mark(rights, right_places[owner])
            out.append(self._joined(self._read(lefts, places, 0), right.batch.take(pa.array(owner))))
        self._store(lefts, 0, left, met)
        return [*out, *self._forget(call, lefts, rights)] if self._within else out

    def _kept(self, values: pa.Schema) -> pa.Schema:
        return pa.schema([*values, (MATCHED, pa.bool_())]) if OUTER[self._how] else values

    def _arrivals(self, call: SlotCall, side: int) -> _Arrivals:
        given, rows = self._inputs[side], call.sides[side]
        schema = pa.schema([*self._keys, *given.values])
        if not rows.batch.num_rows:
            return _Arrivals(_empty(schema), rows.hashes, _NONE)
        batch, hashes = rows.batch, rows.hashes
        if self._within is not None:
            late = is_late(batch.column(given.time), call.late_ms)
            call.count_late(int(late.sum()))
            kept = ~late & timed(batch.column(given.time))
            batch, hashes = batch.filter(pa.array(kept)), hashes.take(kept)
        columns = [batch.column(name) for name in (*given.keys, *given.values.names)]
        batch = pa.RecordBatch.from_arrays(
            [c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
        )
        whole = np.ones(batch.num_rows, np.bool_)
        for key in self._keys.names:
            whole &= timed(batch.column(key))
        if (LEFT, RIGHT)[side] not in OUTER[self._how]:
            batch, hashes, whole = batch.filter(pa.array(whole)), hashes.take(whole), whole[whole]
        return _Arrivals(batch, hashes, np.flatnonzero(whole))

    def _pairs(self, new: _Arrivals, side: int, others: Multimap) -> tuple[Index, Index]:
        found, places = others.lookup(new.hashes.take(new.matchable))
        owner = new.matchable[found]
        if self._within is None:
            return owner, places
        mine = micros_of(new.batch.column(self._inputs[side].time)).to_numpy()[owner]
        theirs = micros_of(others.rows.read(places, [self._inputs[1 - side].time or ""]).column(0)).to_numpy()
        apart = theirs - mine if side == 0 else mine - theirs
        near = (apart >= self._within.earliest_us) & (apart <= self._within.latest_us)
        return owner[near], places[near]

    def _store(self, side: Multimap, number: int, new: _Arrivals, met: Mask) -> Index:
        values = new.batch.select(self._inputs[number].values.names)
        if OUTER[self._how]:
            schema = self._kept(self._inputs[number].values)
            values = pa.RecordBatch.from_arrays([*values.columns, pa.array(met)], schema=schema)
        return side.add(new.hashes, new.batch.select(self._keys.names), values)

    def _mark(self, side: Multimap, places: Index) -> None:
        if OUTER[self._how] and places.size:
            places = np.unique(places)
            side.rows.write(places, pa.record_batch([pa.array(np.ones(places.size, np.bool_))], [MATCHED]))

    def _read(self, side: Multimap, places: Index, number: int) -> pa.RecordBatch:
        return side.rows.read(places, [*self._keys.names, *self._inputs[number].values.names])

    def _joined(self, left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [*left.columns, *(right.column(name) for name in self._inputs[1].values.names)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._output)

    def _forget(self, call: SlotCall, lefts: Multimap, rights: Multimap) -> list[pa.RecordBatch]:
        assert self._within is not None
        passed = call.watermark_ms * 1000
        out = []
        bounds = (passed - self._within.latest_us, passed + self._within.earliest_us)
        for number, side in enumerate((lefts, rights)):
            places = call.rows_below(side.rows, self._inputs[number].time or "", bounds[number] + 1)
            if not places.size:
                continue
            if (LEFT, RIGHT)[number] in OUTER[self._how]:
                met = side.rows.read(places, [MATCHED]).column(0).to_numpy(zero_copy_only=False)
                out.append(self._alone(number, self._read(side, places[~met], number)))
            side.remove(places)
        return out

    def _alone(self, number: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        nothing = pa.schema([*self._keys, *self._inputs[1 - number].values])
        absent = pa.RecordBatch.from_arrays([pa.nulls(rows.num_rows, f.type) for f in nothing], schema=nothing)
        if number == 0:
            return self._joined(rows, absent)
        keys = [rows.column(name) for name in self._keys.names]
        return self._joined(_with(absent, keys), rows)


_NONE = np.zeros(0, np.int64)


def _with(absent: pa.RecordBatch, keys: list[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*keys, *absent.columns[len(keys) :]], schema=absent.schema)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


def _shortest(*delays: str | None) -> str | None:
    from whimbrel.model.durations import milliseconds

    known = [delay for delay in delays if delay is not None]
    return min(known, key=milliseconds) if known else None
