"""An operator whose tables begin with rows from elsewhere.

Every such table is one more input of the stream: a few files that Spark reads in the first epoch, once and never again.
Their rows are taken in before the stream's own, in the bins of their keys, and from then on they are state like any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from whimbrel.model.errors import OperatorFailed
from whimbrel.runtime.operator import Operator, Rows, Side, SlotCall
from whimbrel.state.grouping import group_rows
from whimbrel.state.ledger import TableSpec


@dataclass(frozen=True, slots=True)
class Seed:
    """A table that begins with rows, and the columns that they bring."""

    table: str
    columns: pa.Schema


class Seeded(Operator):
    """``operator`` with an input per seed behind its own."""

    def __init__(self, operator: Operator, seeds: Sequence[Seed]) -> None:
        self._operator, self._seeds = operator, tuple(seeds)
        self.name, self.output, self.delay = operator.name, operator.output, operator.delay
        self.time_mode, self.tick_ms = operator.time_mode, operator.tick_ms
        width = len(operator.sides[0].keys)
        keys = {spec.name: tuple(spec.key.names[:width]) for spec in operator.tables()}
        self.sides = (*operator.sides, *(Side(keys[s.table], tuple(s.columns.names)) for s in self._seeds))

    def tables(self) -> Sequence[TableSpec]:
        """Those of the operator."""
        return self._operator.tables()

    def describe(self) -> dict[str, Any]:
        """What the operator says: where its rows came from does not matter later."""
        return self._operator.describe()

    def prepare(self, side: int, rows: Rows) -> Rows:
        """Rows of the stream are the operator's; those of a seed cross as they are."""
        return self._operator.prepare(side, rows) if side < len(self._operator.sides) else rows

    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Take in the seeds' rows, then do the operator's work."""
        own = len(self._operator.sides)
        for seed, rows in zip(self._seeds, call.sides[own:], strict=True):
            if rows.batch.num_rows:
                arrays = [rows.batch.column(f.name).cast(f.type) for f in seed.columns]
                batch = pa.RecordBatch.from_arrays(arrays, schema=seed.columns)
                self._operator.begin(call, seed.table, Rows(batch, rows.hashes))
        return self._operator.process(replace(call, sides=call.sides[:own]))


def check_distinct(rows: Rows, keys: pa.RecordBatch, operator: str) -> None:
    """Raises OperatorFailed where two initial rows have one key: it would be left to chance which one stays."""
    group, first = group_rows(rows.hashes)
    if first.size < group.size:
        seen = set(first.tolist())
        twice = next(n for n in range(group.size) if n not in seen)
        raise OperatorFailed(
            f"the initial state of operator {operator!r} has two rows for the key {keys.slice(twice, 1).to_pylist()[0]}: "
            "make its keys distinct, and begin a new job"
        )
