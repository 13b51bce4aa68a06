"""The audit: Spark's own committed state, read by Spark's own state reader, must add up.

Every slot's values are opened on the workers as a restart would open them (frames, digests, chain), and the driver
compares: each bin in exactly one slot under the stamp that the seal says; as many rows accounted to bins, which move, as
slots have taken in, which do not; the job's control objects whole and telling one story. All of it as of the newest
epoch that Spark has committed, so a running query may be audited at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from whimbrel.control.board import Board
from whimbrel.control.checking import control_faults, transfer_faults
from whimbrel.model.errors import BadInput, WhimbrelError
from whimbrel.runtime.audit_report import AuditReport, Finding, judge
from whimbrel.runtime.backend import HEAD_KEY, VALUES
from whimbrel.runtime.committed import committed_epoch, seal_as_of
from whimbrel.runtime.opening import ROWS_NOTE, open_slot

_FOUND = pa.schema(
    [
        ("operator", pa.string()),
        ("slot", pa.int32()),
        ("bin", pa.int64()),
        ("stamp", pa.int64()),
        ("rows", pa.int64()),
        ("fault", pa.string()),
    ]
)
_FOUND_DDL = "operator string, slot int, bin long, stamp long, rows long, fault string"


def audit(spark: SparkSession, board: Board, checkpoint: str) -> AuditReport:
    """Audit the newest committed epoch. BadInput where nothing was committed yet."""
    epoch = committed_epoch(checkpoint)
    seal = seal_as_of(board, epoch)
    faults = control_faults(board, seal)
    try:
        stamped = board.seals.assignment(seal.assignment)
        operators = board.operators()
    except WhimbrelError:
        return AuditReport.unreadable(seal, faults)
    found = list(_read(spark, operators, checkpoint, epoch, moved=any(stamped.stamp)))
    missing = transfer_faults(board, seal, sorted({f.operator for f in found if f.operator}))
    if committed_epoch(checkpoint) == epoch:
        # Once the next epoch is committed what was under way has arrived, and its transfers may be gone.
        faults += missing
    return judge(found, seal, stamped, faults)


def stateful_operators(spark: SparkSession, checkpoint: str) -> list[int]:
    """Spark's numbers of the operators in a checkpoint that may be ours; BadInput where there is no checkpoint."""
    try:
        metadata = spark.read.format("state-metadata").load(checkpoint).collect()
    except Exception as error:
        raise BadInput(
            f"{checkpoint} holds no readable checkpoint ({str(error).splitlines()[0]}): start the query first"
        ) from None
    return sorted({int(row["operatorId"]) for row in metadata if "transformWithState" in row["operatorName"]})


def _read(
    spark: SparkSession, operators: Mapping[str, Any], checkpoint: str, epoch: int, moved: bool
) -> Iterator[Finding]:
    for number in stateful_operators(spark, checkpoint):
        try:
            values = slot_values(spark, checkpoint, number, epoch)
            checked = values.groupBy("partition").applyInArrow(_verifier(operators), _FOUND_DDL)
            found = [Finding(**row.asDict()) for row in checked.collect()]
            yield from found
            if moved and not found:
                # Before the first move an operator may never have run. Every operator takes part in every move.
                yield Finding(fault=f"Spark's operator {number} holds nothing of any of {', '.join(sorted(operators))}")
        except Exception as error:
            # Spark checks its own files; what it refuses to read is damaged, and that is an answer, not a crash.
            yield Finding(fault=f"Spark cannot read the state of its operator {number}: {_first_cause(error)}")


def _first_cause(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0][:400]


def slot_values(spark: SparkSession, checkpoint: str, operator: int, epoch: int) -> DataFrame:
    """The head (key null), the journal and the pages of every slot of one operator as of an epoch: partition, key, bytes."""
    options = {"operatorId": operator, "stateVarName": VALUES, "batchId": epoch, "path": checkpoint}
    values = spark.read.format("statestore").options(**options).load()
    key = fn.col("user_map_key.key")
    return values.select(
        fn.col("partition_id").alias("partition"),
        fn.when(key != HEAD_KEY, key).alias("key"),
        fn.col("user_map_value.bytes"),
    )


def _verifier(operators: Mapping[str, Any]) -> Any:
    def verify(values: pa.Table) -> pa.Table:
        slot = values.column("partition")[0].as_py()
        pairs = list(zip(values.column("key").to_pylist(), values.column("bytes").to_pylist(), strict=True))
        return pa.Table.from_pylist([_as_row(each) for each in verdicts(slot, pairs, operators)], schema=_FOUND)

    return verify


def _as_row(found: Finding) -> dict[str, Any]:
    return {name: getattr(found, name) for name in _FOUND.names}


def verdicts(slot: int, pairs: list[tuple[int | None, bytes]], operators: Mapping[str, Any]) -> Iterator[Finding]:
    """What the values of one slot say: its faults, or its rows taken in and its bins."""
    head = next((value for key, value in pairs if key is None), None)
    log = {k: v for k, v in pairs if k is not None}
    try:
        operator, ledger = open_slot(head, log, operators, f"the state of slot {slot}")
    except WhimbrelError as error:
        yield Finding(slot=slot, fault=str(error))
        return
    yield Finding(operator=operator, slot=slot, rows=int(ledger.notes.get(ROWS_NOTE, 0)))
    for b, stamp in ledger.owned.items():
        yield Finding(operator=operator, slot=slot, bin=b, stamp=stamp, rows=ledger.rows_of(b))
