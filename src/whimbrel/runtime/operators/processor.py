"""``processor``: an existing ``StatefulProcessor`` runs unchanged, its state in bins that move.

One row of state per key: its variables, its timers, and the next time at which something of it falls due. An epoch
reads the rows of its keys at once and writes the changed ones at once; between the two the processor works on plain
Python values. As in Spark the rows of all keys come first, then the timers.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, TimerValues

from whimbrel.model.errors import BadInput
from whimbrel.runtime.operator import TICK_MS, Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.event_time import is_late
from whimbrel.runtime.operators.processor_states import Entry, Handle, KeyState, Variable
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.ledger import TableSpec

TABLE = "keys"
TIMERS, DUE = "_timers", "_due"
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Spark's time mode, the event time column and its delay, and the zone in which the processor sees times."""

    mode: str = "None"
    column: str | None = None
    delay: str | None = None
    zone: str = "UTC"


class Processor(Operator):
    """``processor`` is the user's object; it is copied for every slot and epoch, so it must keep nothing to itself."""

    def __init__(
        self,
        name: str,
        keys: Sequence[str],
        schema: pa.Schema,
        processor: StatefulProcessor,
        output: pa.Schema,
        time: ProcessorTime,
    ) -> None:
        self.name, self.time_mode, self.delay = name, time.mode, time.delay
        self.tick_ms = TICK_MS if time.mode == "ProcessingTime" else 0
        self._processor, self._output, self._time = processor, output, time
        self._keys = pa.schema([schema.field(key) for key in keys])
        self.sides = (Side(tuple(keys), tuple(schema.names), time.column),)
        self.output = ddl_of(output)
        probe = Handle(time.mode != "None", time.mode == "ProcessingTime")
        copy.deepcopy(processor).init(probe)  # type: ignore[arg-type]
        self._variables = tuple(probe.variables.values())

    def tables(self) -> Sequence[TableSpec]:
        """One table: a row per key."""
        variables = [pa.field(v.name, v.type) for v in self._variables]
        return [
            TableSpec(TABLE, self._keys, pa.schema([*variables, (TIMERS, pa.list_(pa.int64())), (DUE, pa.int64())]))
        ]

    def describe(self) -> dict[str, Any]:
        """Kind, keys and variables."""
        return {
            "kind": "processor",
            "keys": [f"{f.name} {f.type}" for f in self._keys],
            "variables": [f"{v.name} {v.kind} {v.ttl_ms}" for v in self._variables],
        }

    def begins_with(self, table: str, given: pa.Schema) -> pa.Schema:
        """The keys, and whatever else the processor wants to be told."""
        missing = [key for key in self._keys.names if key not in given.names]
        if missing:
            raise BadInput(f"the initial rows of {self.name!r} lack the key columns {', '.join(missing)}")
        others = [field for field in given if field.name not in self._keys.names]
        return pa.schema([*self._keys, *others])

    def begin(self, call: SlotCall, table: str, rows: Rows) -> None:
        """Tell the processor of every key's initial rows."""
        _Turn.begin(self, call).initial(rows)

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Rows of every key, then timers."""
        turn = _Turn.begin(self, call)
        frames = [*turn.rows(self._on_time(call)), *turn.timers()]
        return [self._to_batch(frame) for frame in frames if len(frame)]

    def _on_time(self, call: SlotCall) -> Rows:
        rows = call.rows
        if self._time.mode != "EventTime" or not rows.batch.num_rows:
            return rows
        late = is_late(rows.batch.column(self._time.column), call.late_ms)
        call.count_late(int(late.sum()))
        return Rows(rows.batch.filter(pa.array(~late)), rows.hashes.take(~late))

    def _to_batch(self, frame: pd.DataFrame) -> pa.RecordBatch:
        return pa.RecordBatch.from_pandas(frame, schema=self._output, preserve_index=False)


@dataclass(slots=True)
class _Turn:
    """One slot's epoch of a processor."""

    operator: Processor
    call: SlotCall
    handle: Handle
    processor: StatefulProcessor
    times: Any

    @staticmethod
    def begin(operator: Processor, call: SlotCall) -> _Turn:
        mode = operator.time_mode
        handle = Handle(mode != "None", mode == "ProcessingTime", {v.name: v for v in operator._variables})
        handle.clock.now_ms = call.now_ms
        processor = copy.deepcopy(operator._processor)
        processor.init(handle)  # type: ignore[arg-type]
        return _Turn(operator, call, handle, processor, TimerValues(call.now_ms, call.watermark_ms))

    def rows(self, rows: Rows) -> Iterator[pd.DataFrame]:
        """The processor's answers to the rows."""
        if not rows.batch.num_rows:
            return
        for key, frame in self._each_key(rows):
            yield from self.processor.handleInputRows(key, iter([frame]), self.times)

    def initial(self, rows: Rows) -> None:
        """Lets the processor make state of rows that are no input."""
        for key, frame in self._each_key(rows):
            self.processor.handleInitialState(key, frame, self.times)

    def _each_key(self, rows: Rows) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
        """Every key with its rows, its state at hand; all states are kept after the last one."""
        group, first = group_rows(rows.hashes)
        keys = rows.batch.select(self.operator._keys.names).take(pa.array(first))
        order = np.argsort(group, kind="stable")
        ends = np.cumsum(np.bincount(group))
        frame = _to_pandas(rows.batch.take(pa.array(order)), self.operator._time.zone)
        states = self._load(rows.hashes.take(first))
        for state, key, start, end in zip(states, _tuples(keys), [0, *ends[:-1]], ends, strict=True):
            self.handle.clock.state = state
            yield key, frame.iloc[start:end]
        self._save(rows.hashes.take(first), keys, states)

    def timers(self) -> Iterator[pd.DataFrame]:
        """The processor's answers to timers that have expired; TTL is seen to as well."""
        bound = self.call.watermark_ms if self.operator.time_mode == "EventTime" else self.call.now_ms
        table = self.call.ledger.table(TABLE)
        places = self.call.rows_below(table, DUE, bound + 1) if self.operator.time_mode != "None" else np.zeros(0, int)
        if not places.size:
            return
        keys, hashes = table.read(places, self.operator._keys.names), table.hashes_of(places)
        states = self._load(hashes)
        due = [
            (expiry, number, key)
            for number, (state, key) in enumerate(zip(states, _tuples(keys), strict=True))
            for expiry in state.timers
            if expiry <= bound
        ]
        for expiry, number, key in sorted(due, key=lambda timer: timer[:2]):
            state = self.handle.clock.state = states[number]
            yield from self.processor.handleExpiredTimer(key, self.times, ExpiredTimerInfo(expiry))
            state.timers.discard(expiry)
        for state in states:
            state.changed = True
        self._save(hashes, keys, states)

    def _load(self, hashes: KeyHashes) -> list[KeyState]:
        table = self.call.ledger.table(TABLE)
        places = table.find(hashes)
        held = table.read(places[places >= 0]).to_pylist()
        found: list[KeyState] = []
        rows = iter(held)
        for known in (places >= 0).tolist():
            row = next(rows) if known else {}
            variables = {
                v.name: _living(_entries(row.get(v.name) or [], v), v, self.call.now_ms)
                for v in self.operator._variables
            }
            found.append(KeyState(variables, set(row.get(TIMERS) or [])))
        return found

    def _save(self, hashes: KeyHashes, keys: pa.RecordBatch, states: list[KeyState]) -> None:
        table = self.call.ledger.table(TABLE)
        alive = np.array([s.changed and bool(s.timers or any(s.entries.values())) for s in states], np.bool_)
        gone = np.array([s.changed for s in states], np.bool_) & ~alive
        old = table.find(hashes.take(gone))
        table.delete(old[old >= 0])
        kept = [state for state, lives in zip(states, alive.tolist(), strict=True) if lives]
        if kept:
            places, _ = table.ensure(hashes.take(alive), keys.filter(pa.array(alive)))
            table.write(places, self._to_values(kept))

    def _to_values(self, states: list[KeyState]) -> pa.RecordBatch:
        now = self.call.now_ms
        columns = [
            pa.array([[_to_dict(e) for e in _living(s.entries[v.name], v, now)] for s in states], v.type)
            for v in self.operator._variables
        ]
        timers = pa.array([sorted(state.timers) for state in states], pa.list_(pa.int64()))
        due = pa.array([self._due(state) for state in states], pa.int64())
        names = [v.name for v in self.operator._variables]
        return pa.RecordBatch.from_arrays([*columns, timers, due], names=[*names, TIMERS, DUE])

    def _due(self, state: KeyState) -> int:
        ends = [
            e.at + v.ttl_ms for v in self.operator._variables if v.ttl_ms is not None for e in state.entries[v.name]
        ]
        return min([*state.timers, *ends], default=_NEVER)


def _living(entries: list[Entry], variable: Variable, now_ms: int) -> list[Entry]:
    ttl = variable.ttl_ms
    return entries if ttl is None else [e for e in entries if e.at + ttl > now_ms]


def _entries(held: list[dict[str, Any]], variable: Variable) -> list[Entry]:
    keys = [f"k{i}" for i in range(len(variable.key))]
    values = [f"v{i}" for i in range(len(variable.value))]
    return [Entry(e["at"], tuple(e[k] for k in keys), tuple(e[v] for v in values)) for e in held]


def _to_dict(entry: Entry) -> dict[str, Any]:
    keys = {f"k{i}": value for i, value in enumerate(entry.key)}
    return {"at": entry.at} | keys | {f"v{i}": value for i, value in enumerate(entry.value)}


def _tuples(keys: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in keys.columns), strict=True))


def _to_pandas(batch: pa.RecordBatch, zone: str) -> pd.DataFrame:
    """Rows as Spark shows them to a processor: times without a zone, in the session's."""
    frame = batch.to_pandas(date_as_object=True)
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.DatetimeTZDtype):
            frame[name] = frame[name].dt.tz_convert(zone).dt.tz_localize(None)
    return frame
