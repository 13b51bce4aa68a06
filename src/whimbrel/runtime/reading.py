"""The committed state of an operator as a table, read from Spark's own state store: for tests, audits and users."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.model.errors import BadInput
from whimbrel.runtime.audit import slot_values, stateful_operators
from whimbrel.runtime.committed import committed_epoch, seal_as_of
from whimbrel.runtime.opening import OPERATOR_NOTE, open_slot
from whimbrel.runtime.operator import LATE_ROWS
from whimbrel.state.head import open_head

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whimbrel.control.board import Board


def read_table(spark: SparkSession, board: Board, checkpoint: str, operator: str, table: str) -> pa.Table:
    """All rows of one table of one operator as of the newest committed epoch, keys then values. Gathers them on the driver.

    What a slot holds besides its own bins, for an install elsewhere, is left out.
    """
    from pyspark.sql import functions as fn

    parts = []
    epoch = committed_epoch(checkpoint)
    seal = seal_as_of(board, epoch)
    owners = board.seals.assignment(seal.assignment).assignment
    for number in stateful_operators(spark, checkpoint):
        values = slot_values(spark, checkpoint, number, epoch)
        for row in values.select("partition").distinct().collect():
            pairs: list[Any] = values.where(fn.col("partition") == row["partition"]).select("key", "bytes").collect()
            head = next((bytes(p["bytes"]) for p in pairs if p["key"] is None), None)
            log = {p["key"]: bytes(p["bytes"]) for p in pairs if p["key"] is not None}
            owner, ledger = open_slot(head, log, board.operators(), f"the state of slot {row['partition']}")
            if owner == operator:
                found = ledger.table(table)
                parts.append(pa.Table.from_batches([found.read(found.scan(owners.bins_of(row["partition"])))]))
    if not parts:
        raise BadInput(f"{checkpoint} holds no table {table!r} of an operator {operator!r}")
    return pa.concat_tables(parts)


def late_rows(spark: SparkSession, board: Board, checkpoint: str) -> dict[str, int]:
    """How many rows each operator has dropped because they came too late, from the committed state."""
    from pyspark.sql import functions as fn

    found: Counter[str] = Counter()
    epoch = committed_epoch(checkpoint)
    for number in stateful_operators(spark, checkpoint):
        for row in slot_values(spark, checkpoint, number, epoch).where(fn.col("key").isNull()).collect():
            notes = open_head(bytes(row["bytes"]), f"the head of slot {row['partition']}").notes
            found[str(notes.get(OPERATOR_NOTE, ""))] += int(notes.get(LATE_ROWS, 0))
    return dict(found)
