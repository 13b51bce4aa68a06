"""``unary`` and ``binary``: a function over Arrow batches, with keyed tables and post-dated records.

The function is called once per slot and epoch with the rows of all the slot's bins, in time order. Whatever it
keeps in its tables or schedules for later belongs to the bin of the row's key and moves with that bin; that is
all the freedom, and all the discipline, of Megaphone's stateful operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.model.errors import BadInput, OperatorFailed
from whimbrel.runtime.operator import TICK_MS, Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.table_view import TableView
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.hashing import hash_keys
from whimbrel.state.ledger import TableSpec
from whimbrel.state.postdated import BIN, TIME, PostDated, postdated_spec

Output: TypeAlias = Any
"""An Arrow RecordBatch or Table, a list of them, or None."""
Step = Callable[["BinsContext"], Output]
POST_DATED = "post-dated"


@dataclass(frozen=True)
class BinsContext:
    """What the function sees: the rows, the tables, the records that have come due, and the times."""

    sides: tuple[pa.RecordBatch, ...]
    tables: Mapping[str, TableView]
    due: pa.RecordBatch
    """Post-dated records whose time the watermark has passed, in time order, each once; the column ``due_at`` is
    the time in milliseconds that they were scheduled for."""
    epoch: int
    slot: int
    watermark_ms: int
    now_ms: int
    _post_dated: PostDated | None
    _routing: tuple[str, ...]
    _records: pa.Schema | None

    @property
    def rows(self) -> pa.RecordBatch:
        """The rows of the (first) input."""
        return self.sides[0]

    @property
    def others(self) -> pa.RecordBatch:
        """The rows of the second input of ``binary``."""
        return self.sides[1]

    def table(self, name: str = "state") -> TableView:
        """One of the operator's tables."""
        if name not in self.tables:
            raise BadInput(f"there is no table {name!r}: this operator has {', '.join(self.tables) or 'none'}")
        return self.tables[name]

    def schedule(self, times_ms: Sequence[int] | np.ndarray[Any, Any] | pa.Array, records: pa.RecordBatch) -> None:
        """Post-date records: each comes back in ``due`` once the watermark has passed its time."""
        if self._post_dated is None or self._records is None:
            raise BadInput("this operator schedules no records: declare them with schedules='key type, …'")
        times = np.asarray(pc.cast(times_ms, pa.int64()) if isinstance(times_ms, pa.Array) else times_ms, np.int64)
        arrays = [records.column(field.name).cast(field.type) for field in self._records]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._records)
        self._post_dated.schedule(hash_keys([batch.column(k) for k in self._routing]), times, batch)


class PerBin(Operator):
    """``tables``: name -> (key schema, value schema); ``schedules``: the schema of post-dated records, or None."""

    def __init__(
        self,
        name: str,
        sides: Sequence[Side],
        step: Step,
        output: pa.Schema,
        tables: Mapping[str, tuple[pa.Schema, pa.Schema]],
        schedules: pa.Schema | None = None,
        delay: str | None = None,
        defaults: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.name = name
        self.sides = tuple(sides)
        self.output = ddl_of(output)
        self.delay = delay
        self.time_mode = "EventTime" if delay is not None else "ProcessingTime"
        self.tick_ms = TICK_MS if schedules is not None and delay is None else 0
        self._step, self._output, self._schedules = step, output, schedules
        self._tables = {n: TableSpec(n, key, value, (defaults or {}).get(n, {})) for n, (key, value) in tables.items()}

    def tables(self) -> Sequence[TableSpec]:
        """The user's tables, and one for post-dated records where there are any."""
        extra = [] if self._schedules is None else [postdated_spec(POST_DATED, self._schedules)]
        return [*self._tables.values(), *extra]

    def describe(self) -> dict[str, Any]:
        """Keys and tables of every side."""
        return {
            "kind": "per_bin",
            "keys": [list(side.keys) for side in self.sides],
            "tables": {n: [_fields(s.key), _fields(s.value)] for n, s in self._tables.items()},
            "schedules": None if self._schedules is None else _fields(self._schedules),
        }

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Call the function and check what it returns."""
        context = self._context(call)
        if not any(batch.num_rows for batch in context.sides) and not context.due.num_rows and self.delay is None:
            return []
        return [self._checked(part, call) for part in _parts(self._step(context))]

    def _context(self, call: SlotCall) -> BinsContext:
        routing = self.sides[0].keys
        views = {
            n: TableView(call, call.ledger.table(n), spec, spec.key.names[: len(routing)])
            for n, spec in self._tables.items()
        }
        post_dated = None if self._schedules is None else PostDated(call.ledger.table(POST_DATED))
        due = pa.RecordBatch.from_pylist([], schema=pa.schema([("due_at", pa.int64())]))
        if post_dated is not None and self._schedules is not None:
            due = _due(post_dated, call, call.watermark_ms if self.delay is not None else call.now_ms, self._schedules)
        sides = tuple(_in_time_order(rows, side) for rows, side in zip(call.sides, self.sides, strict=True))
        return BinsContext(
            sides,
            views,
            due,
            call.epoch,
            call.slot,
            call.watermark_ms,
            call.now_ms,
            post_dated,
            routing,
            self._schedules,
        )

    def _checked(self, part: Any, call: SlotCall) -> pa.RecordBatch:
        where = f"operator {self.name!r}, slot {call.slot}, epoch {call.epoch}"
        if not isinstance(part, pa.RecordBatch | pa.Table):
            raise OperatorFailed(f"{where}: the function returned {type(part).__name__}; return Arrow batches, or None")
        missing = [name for name in self._output.names if name not in part.schema.names]
        if missing:
            raise OperatorFailed(f"{where}: the function's batch lacks the output columns {', '.join(missing)}")
        table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
        try:
            cast = table.select(self._output.names).cast(self._output)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise OperatorFailed(f"{where}: the function's batch does not fit the output schema: {error}") from error
        from whimbrel.runtime.packing import as_batch

        return as_batch(cast)


def _due(post_dated: PostDated, call: SlotCall, bound: int, records: pa.Schema) -> pa.RecordBatch:
    found = post_dated.due(bound)
    ours = found.filter(pa.array(call.held[found.column(BIN).to_numpy()]))
    columns = [ours.column(TIME), *(ours.column(name) for name in records.names)]
    return pa.RecordBatch.from_arrays(columns, names=["due_at", *records.names])


def _parts(output: Output) -> list[Any]:
    if output is None:
        return []
    return output if isinstance(output, list) else [output]


def _in_time_order(rows: Rows, side: Side) -> pa.RecordBatch:
    if side.time is None or rows.batch.num_rows < 2:
        return rows.batch
    order = np.argsort(
        rows.batch.column(side.time).cast(pa.timestamp("us")).cast(pa.int64()).to_numpy(zero_copy_only=False),
        kind="stable",
    )
    return rows.batch.take(pa.array(order))


def _fields(schema: pa.Schema) -> list[str]:
    return [f"{field.name} {field.type}" for field in schema]
