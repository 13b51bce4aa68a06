"""``processor``: an existing ``StatefulProcessor`` runs unchanged, its state in bins that move.

An epoch reads the state of its keys at once and writes what has changed at once; between the two the processor works
on plain Python values. As in Spark the rows of all keys come first, then the timers, then ``close``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, TimerValues

from whimbrel.model.errors import BadInput
from whimbrel.runtime.operator import TICK_MS, Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.event_time import is_late
from whimbrel.runtime.operators.processor_blocks import Variable
from whimbrel.runtime.operators.processor_frames import Answers, frames_of, key_tuples
from whimbrel.runtime.operators.processor_keys import DUE, TABLE, TIMERS, KeyStates
from whimbrel.runtime.operators.processor_states import Handle
from whimbrel.runtime.operators.python_values import row
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.ledger import TableSpec


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
        self._variables: tuple[Variable, ...] = ()
        probe = self._handle()
        learned = copy.deepcopy(processor)
        learned.init(probe)  # type: ignore[arg-type]
        learned.close()
        self._variables = tuple(probe.variables)

    def _handle(self) -> Handle:
        mode, known = self.time_mode, {variable.name: variable for variable in self._variables}
        return Handle(mode != "None", mode == "ProcessingTime", self._time.zone, known)

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
        turn = _Turn.begin(self, call)
        turn.initial(rows)
        turn.processor.close()

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Rows of every key, then timers."""
        turn = _Turn.begin(self, call)
        turn.rows(self._on_time(call))
        turn.timers()
        turn.processor.close()
        return turn.answers.batches()

    def _on_time(self, call: SlotCall) -> Rows:
        rows = call.rows
        if self._time.mode != "EventTime" or not rows.batch.num_rows:
            return rows
        late = is_late(rows.batch.column(self._time.column), call.late_ms)
        call.count_late(int(late.sum()))
        return Rows(rows.batch.filter(pa.array(~late)), rows.hashes.take(~late))


@dataclass(slots=True)
class _Turn:
    """One slot's epoch of a processor."""

    operator: Processor
    call: SlotCall
    handle: Handle
    processor: StatefulProcessor
    times: TimerValues
    answers: Answers

    @staticmethod
    def begin(operator: Processor, call: SlotCall) -> _Turn:
        handle = operator._handle()
        handle.turn.now_ms = call.now_ms
        processor = copy.deepcopy(operator._processor)
        processor.init(handle)  # type: ignore[arg-type]
        times = TimerValues() if operator.time_mode == "None" else TimerValues(call.now_ms, call.watermark_ms)
        return _Turn(operator, call, handle, processor, times, Answers(operator._output, operator._time.zone))

    def rows(self, rows: Rows) -> None:
        """Tells the processor of the rows and takes its answers."""
        handle, take, times = self.processor.handleInputRows, self.answers.take, self.times
        self._each_key(rows, lambda key, frame: take(handle(key, iter((frame,)), times)))

    def initial(self, rows: Rows) -> None:
        """Lets the processor make state of rows that are no input."""
        handle, times = self.processor.handleInitialState, self.times
        self._each_key(rows, lambda key, frame: handle(key, frame, times))

    def _each_key(self, rows: Rows, tell: Callable[[tuple[Any, ...], pd.DataFrame], None]) -> None:
        """Every key with its rows, its state at hand; what has changed is kept after the last one."""
        if not rows.batch.num_rows:
            return
        group, first = group_rows(rows.hashes)
        keys = rows.batch.select(self.operator._keys.names).take(pa.array(first))
        states = self._load(rows.hashes.take(first), keys)
        sorted_rows = rows.batch.take(pa.array(np.argsort(group, kind="stable")))
        frames, turn, zone = frames_of(sorted_rows, np.bincount(group), self._zone), self.handle.turn, self._zone
        for place, key, frame in zip(count(), key_tuples(keys, zone), frames, strict=False):
            turn.place = place
            tell(key, frame)
        states.save()

    def timers(self) -> None:
        """Takes the processor's answers to timers that have expired, at the bound too; what has expired by TTL goes."""
        if self.operator.time_mode == "None":
            return
        bound = self.call.watermark_ms if self.operator.time_mode == "EventTime" else self.call.now_ms
        table = self.call.ledger.table(TABLE)
        places = self.call.rows_below(table, DUE, bound + 1)
        if not places.size:
            return
        keys = table.read(places, self.operator._keys.names)
        states = self._load(table.hashes_of(places), keys)
        names, named = keys.schema.names, key_tuples(keys, self._zone)
        held = states.timers
        due = [(expiry, place) for place in range(places.size) for expiry in held.of(place) if expiry <= bound]
        for expiry, place in sorted(due):
            self.handle.turn.place = place
            info = ExpiredTimerInfo(expiry)
            answers = self.processor.handleExpiredTimer(
                key=row(names, named[place]), timerValues=self.times, expiredTimerInfo=info
            )
            self.answers.take(answers)
            held.of(place).discard(expiry)
            held.changed.add(place)
        states.save()

    def _load(self, hashes: KeyHashes, keys: pa.RecordBatch) -> KeyStates:
        table = self.call.ledger.table(TABLE)
        states = KeyStates(table, self.operator._variables, self.handle.turn, hashes, keys)
        self.handle.serve(states.blocks, states.timers)
        return states

    @property
    def _zone(self) -> str:
        return self.operator._time.zone
