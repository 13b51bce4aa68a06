"""TTL: a key that has had no rows for a while is forgotten.

Time is Spark's processing time of the epoch, the same in a replay. A key expires at the first epoch that begins its
TTL or more after the epoch of its last row, before that epoch's own rows are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whimbrel.runtime.operator import Rows, SlotCall
from whimbrel.state.table import KeyedTable

TOUCHED = "_touched_ms"


@dataclass(frozen=True, slots=True)
class Expiry:
    """``ttl_ms`` None forgets nothing and keeps nothing."""

    ttl_ms: int | None = None

    @property
    def time_mode(self) -> str:
        """What the operator must ask of Spark."""
        return "None" if self.ttl_ms is None else "ProcessingTime"

    def extend(self, values: pa.Schema) -> pa.Schema:
        """The value columns of the table, with the time of the last row."""
        return values if self.ttl_ms is None else values.append(pa.field(TOUCHED, pa.int64()))

    def forget(self, call: SlotCall, table: KeyedTable) -> None:
        """Removes the keys that have expired."""
        if self.ttl_ms is not None:
            table.delete(call.rows_below(table, TOUCHED, call.now_ms - self.ttl_ms + 1))

    def stamped_rows(self, call: SlotCall, rows: Rows) -> Rows:
        """Rows of keys and values with this epoch's time."""
        return Rows(self.stamp(call, rows.batch), rows.hashes)

    def stamp(self, call: SlotCall, values: pa.RecordBatch) -> pa.RecordBatch:
        """The values with this epoch's time."""
        if self.ttl_ms is None:
            return values
        now = pa.array(np.full(values.num_rows, call.now_ms))
        schema = values.schema.append(pa.field(TOUCHED, pa.int64()))
        return pa.RecordBatch.from_arrays([*values.columns, now], schema=schema)
