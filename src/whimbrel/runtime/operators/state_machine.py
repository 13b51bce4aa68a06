"""``state_machine``: a fold per key, in the user's own Python.

The fold sees a key's state and all of the key's rows of one epoch at once, in order; what it returns is the new
state and, with the key before it, the row that is emitted.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.model.errors import OperatorFailed
from whimbrel.runtime.operator import Operator, Rows, Side, SlotCall
from whimbrel.runtime.operators.expiry import Expiry
from whimbrel.runtime.operators.python_values import values_of
from whimbrel.runtime.schemas import ddl_of
from whimbrel.state.grouping import group_rows
from whimbrel.state.ledger import TableSpec

TABLE = "keys"
NEVER = Expiry()
Fold = Callable[[Any, list[Any]], Any]
"""``fold(state, rows)``: ``state`` is a named tuple of the state columns, or None for a new key; ``rows`` are named
tuples of the input columns. Returns the new state (a tuple in the same order, or a bare value where there is one
column), or None to forget the key."""


class StateMachine(Operator):
    """``keys`` and ``state`` are Arrow schemas; ``columns`` are the input columns that the fold reads.

    ``defaults`` are what keys from before a state column was there find in it.
    """

    def __init__(
        self,
        name: str,
        keys: pa.Schema,
        state: pa.Schema,
        columns: Sequence[str],
        fold: Fold,
        expiry: Expiry = NEVER,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self._expiry, self.time_mode = name, expiry, expiry.time_mode
        self._defaults = dict(defaults or {})
        self._keys, self._state, self._fold = keys, state, fold
        self.sides = (Side(tuple(keys.names), tuple(columns)),)
        self._output = pa.schema([*keys, *state])
        self.output = ddl_of(self._output)

    def tables(self) -> Sequence[TableSpec]:
        """One table: a row per key."""
        return [TableSpec(TABLE, self._keys, self._expiry.extend(self._state), self._defaults)]

    def describe(self) -> dict[str, Any]:
        """Kind, keys and state columns."""
        return {
            "kind": "state_machine",
            "keys": [f"{f.name} {f.type}" for f in self._keys],
            "state": [f"{f.name} {f.type}" for f in self._state],
        }

    def begin(self, call: SlotCall, table: str, rows: Rows) -> None:
        """Initial rows count as touched in the first epoch."""
        super().begin(call, table, self._expiry.stamped_rows(call, rows))

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Fold every key's rows into its state."""
        rows, table = call.rows, call.ledger.table(TABLE)
        self._expiry.forget(call, table)
        if not rows.batch.num_rows:
            return []
        group, first = group_rows(rows.hashes)
        keys = rows.batch.select(self._keys.names).take(pa.array(first))
        places, fresh = table.ensure(rows.hashes.take(first), keys)
        before = self._states_before(table.read(places, self._state.names), fresh)
        after = self._fold_all(keys, before, _grouped(rows.batch, group, first.size), call)
        kept = np.array([state is not None for state in after], np.bool_)
        table.delete(places[~kept])
        values = self._to_batch([state for state in after if state is not None], call)
        table.write(places[kept], self._expiry.stamp(call, values))
        changed = keys.filter(pa.array(kept))
        return [pa.RecordBatch.from_arrays([*changed.columns, *values.columns], schema=self._output)]

    def _states_before(self, old: pa.RecordBatch, fresh: np.ndarray[Any, Any]) -> list[Any]:
        states = _named_tuples("State", old)
        for place in np.flatnonzero(fresh).tolist():
            states[place] = None
        return states

    def _fold_all(self, keys: pa.RecordBatch, before: list[Any], grouped: list[list[Any]], call: SlotCall) -> list[Any]:
        fold, after = self._fold, []
        try:
            for state, rows in zip(before, grouped, strict=True):
                after.append(fold(state, rows))
        except Exception as error:
            raise self._failure(f"fold raised {type(error).__name__}: {error}", keys, len(after), call) from error
        return self._checked(after, keys, call)

    def _checked(self, results: list[Any], keys: pa.RecordBatch, call: SlotCall) -> list[Any]:
        """Every result as a tuple of the state's columns, or None."""
        width = len(self._state)
        kinds = {kind for kind in set(map(type, results)) if kind is not type(None)}
        if not any(issubclass(kind, tuple | list) for kind in kinds) and width == 1:
            return [None if result is None else (result,) for result in results]
        for place, result in enumerate(results):
            given = len(result) if isinstance(result, tuple | list) else 1
            if given != width and result is not None:
                wanted = ", ".join(self._state.names)
                raise self._failure(f"fold returned {given} values where the state is ({wanted})", keys, place, call)
        return [result if result is None or isinstance(result, tuple | list) else (result,) for result in results]

    def _to_batch(self, states: list[tuple[Any, ...]], call: SlotCall) -> pa.RecordBatch:
        columns = list(zip(*states, strict=True)) or [()] * len(self._state)
        arrays = []
        for field, values in zip(self._state, columns, strict=True):
            try:
                arrays.append(pa.array(values, type=field.type))
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                raise OperatorFailed(
                    f"operator {self.name!r}, slot {call.slot}, epoch {call.epoch}: fold returned a value that is no "
                    f"{field.type} for the state column {field.name!r} ({error}); the state is as before the epoch"
                ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self._state)

    def _failure(self, what: str, keys: pa.RecordBatch, place: int, call: SlotCall) -> OperatorFailed:
        key = tuple(column[place].as_py() for column in keys.columns)
        b = call.rows.hashes.bins(call.bits)[group_rows(call.rows.hashes)[1][place]]
        return OperatorFailed(
            f"operator {self.name!r}: {what} (key {key!r}, bin {b}, slot {call.slot}, epoch {call.epoch}); "
            "the state is as before the epoch: mend the function and restart the query"
        )


def _grouped(batch: pa.RecordBatch, group: np.ndarray[Any, Any], groups: int) -> list[list[Any]]:
    """Each group's rows, in order."""
    ends = np.cumsum(np.bincount(group, minlength=groups)).tolist()
    rows = _named_tuples("Row", batch.take(pa.array(np.argsort(group, kind="stable"))))
    return [rows[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _named_tuples(name: str, batch: pa.RecordBatch) -> list[Any]:
    shape = namedtuple(name, batch.schema.names, rename=True)  # type: ignore[misc]
    # What the tuple's own constructor does, without a Python call per row.
    make = partial(tuple.__new__, shape)
    return list(map(make, zip(*map(values_of, batch.columns), strict=True)))
