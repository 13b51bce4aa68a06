"""What an operator is to the router and to the host.

An operator is a value: it is pickled to the workers, holds no state of its own, and must be a function of its
rows, its tables and the epoch's times. Everything it remembers lives in the ledger's tables, so it moves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model.errors import BadInput
from whimbrel.state.hashing import KeyHashes, rehash
from whimbrel.state.ledger import SlotLedger, TableSpec
from whimbrel.state.table import KeyedTable

TICK_MS = 1000
"""How often an idle stream looks at timers of processing time."""
LATE_ROWS = "late_rows"
"""The note under which a slot's head counts the rows that came too late."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one input side for one slot and epoch, in mapper order, with the hashes of their keys."""

    batch: pa.RecordBatch
    hashes: KeyHashes


@dataclass(frozen=True, slots=True)
class SlotCall:
    """One call of an operator: a slot, an epoch, its rows and its state.

    ``watermark_ms`` is the watermark of the epoch (0 without event time); ``now_ms`` is the processing time that
    Spark fixed for the epoch, the same in a replay. A row is late against ``late_ms``, the watermark of the epoch
    before: so do Spark's own operators decide, and what the new watermark closes is closed after this epoch's rows.
    ``held`` says of every bin whether this slot owns it now; a bin that has just left may still lie in the tables.
    """

    slot: int
    epoch: int
    bits: int
    sides: tuple[Rows, ...]
    ledger: SlotLedger
    watermark_ms: int
    now_ms: int
    late_ms: int
    held: npt.NDArray[np.bool_]

    @property
    def rows(self) -> Rows:
        """The rows of the first, often only, side."""
        return self.sides[0]

    def rows_below(self, table: KeyedTable, column: str, bound: int) -> npt.NDArray[np.int64]:
        """The table's ``rows_below`` without those of bins that have left this slot."""
        rows = table.rows_below(column, bound)
        return rows[self.held[table.hashes_of(rows).bins(self.bits)]]

    def count_late(self, rows: int) -> None:
        """Rows were dropped because they came too late: counted in the state, so exactly once."""
        if rows:
            self.ledger.notes[LATE_ROWS] = int(self.ledger.notes.get(LATE_ROWS, 0)) + int(rows)


@dataclass(frozen=True, slots=True)
class Side:
    """One input of an operator: its key columns, the columns that it needs, and its event time column.

    ``delay`` is this input's own watermark delay, where an operator's inputs have several.
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    time: str | None = None
    delay: str | None = None


class Operator(ABC):
    """A stateful operator. ``output`` is a Spark DDL schema; ``delay`` is the watermark's, as Spark writes it.

    ``tick_ms`` is how long an idle stream may rest where the operator waits for processing time; 0 where it does not.
    ``earlier`` are the tables that the operator of this name had before it grew: some slot's state may still rest in
    them. ``number`` counts what an operator of this name has been, and ``follows`` are those whose state this one can take over.
    """

    name: str
    sides: tuple[Side, ...]
    output: str
    delay: str | None = None
    time_mode: str = "None"
    tick_ms: int = 0
    earlier: Sequence[Sequence[TableSpec]] = ()
    number: int = 0
    follows: Sequence[int] = ()

    @abstractmethod
    def tables(self) -> Sequence[TableSpec]:
        """The tables that hold the operator's state."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What must not change while state rests under this operator: kind, keys, state schema. Plain JSON data."""

    def prepare(self, side: int, rows: Rows) -> Rows:
        """Map-side work on a chunk of rows before they cross the shuffle: combine what can be combined."""
        return rows

    @abstractmethod
    def process(self, call: SlotCall) -> Sequence[pa.RecordBatch]:
        """Apply an epoch's rows to the state and return the output, with the columns of ``output`` in its order."""

    def begins_with(self, table: str, given: pa.Schema) -> pa.Schema:
        """The columns of initial rows for a table; BadInput where some are missing in what is given."""
        spec = next(spec for spec in self.tables() if spec.name == table)
        wanted = [field for field in (*spec.key, *spec.value) if not field.name.startswith("_")]
        missing = [field.name for field in wanted if field.name not in given.names]
        if missing:
            raise BadInput(
                f"the initial rows of {self.name!r} lack the columns {', '.join(missing)}: they need "
                + ", ".join(f"{field.name} {field.type}" for field in wanted)
            )
        return pa.schema(wanted)

    def begin(self, call: SlotCall, table: str, rows: Rows) -> None:
        """Take initial rows, each of a key of its own, into a table that does not have them."""
        from whimbrel.runtime.operators.seeded import check_distinct

        spec = next(spec for spec in self.tables() if spec.name == table)
        keys = rows.batch.select(spec.key.names)
        extra = keys.columns[len(self.sides[0].keys) :]
        whole = Rows(rows.batch, rehash(rows.hashes, extra, call.bits) if extra else rows.hashes)
        check_distinct(whole, keys, self.name)
        places, _ = call.ledger.table(table).ensure(whole.hashes, keys)
        values = rows.batch.select([name for name in spec.value.names if name in rows.batch.schema.names])
        call.ledger.table(table).write(places, values)
