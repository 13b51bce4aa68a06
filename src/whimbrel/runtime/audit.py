"""The audit: Spark's own committed state, read by Spark's own state reader, must add up.

Every slot's values are opened on the workers as a restart would open them (frames, digests, chain), and the
driver compares owners: each bin exactly once under the stamp that the newest seal says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from whimbrel.control.board import Board
from whimbrel.model.errors import BadInput, WhimbrelError
from whimbrel.runtime.backend import HEAD_KEY, VALUES
from whimbrel.runtime.opening import open_slot

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


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the audit found. ``bins`` counts those with exactly one owner in every operator; ``rows`` all accepted."""

    bins: int
    owners_ok: bool
    rows: int
    digest_ok: bool
    operators: dict[str, int]
    travelling: int
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every proof held."""
        return self.owners_ok and self.digest_ok

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self) | {"ok": self.ok}


def audit(spark: SparkSession, board: Board, checkpoint: str) -> AuditReport:
    """Audit the newest committed epoch. BadInput where nothing was committed yet."""
    found = _read(spark, board, checkpoint)
    seal = board.newest()
    if seal is None:
        raise BadInput(f"{board.directory} has no sealed epoch yet: start its query first")
    allowed = [board.seals.assignment(seal.assignment), board.seals.assignment(seal.next_assignment)]
    faults = [f"{row['operator']} slot {row['slot']}: {row['fault']}" for row in found if row["fault"]]
    rows: Counter[str] = Counter()
    owners: Counter[tuple[str, int]] = Counter()
    for row in found:
        if row["bin"] is not None and any(
            m.assignment.owner[row["bin"]] == row["slot"] and m.stamp[row["bin"]] == row["stamp"] for m in allowed[:1]
        ):
            owners[row["operator"], row["bin"]] += 1
            rows[row["operator"]] += row["rows"]
    names = sorted({row["operator"] for row in found if row["operator"]})
    complaints = [
        f"operator {name}: bin {b} has {owners[name, b]} owners"
        for name in names
        for b in range(board.settings.bins)
        if owners[name, b] != 1
    ]
    return AuditReport(
        bins=sum(all(owners[name, b] == 1 for name in names) for b in range(board.settings.bins)),
        owners_ok=not complaints and bool(names),
        rows=sum(rows.values()),
        digest_ok=not faults,
        operators=dict(rows),
        travelling=len(seal.leaving.moves) + len(seal.arriving.moves) + len(seal.releasing.moves),
        faults=tuple(faults + complaints[:10]),
    )


def stateful_operators(spark: SparkSession, checkpoint: str) -> list[int]:
    """Spark's numbers of the operators in a checkpoint that may be ours; BadInput where there is no checkpoint."""
    try:
        metadata = spark.read.format("state-metadata").load(checkpoint).collect()
    except Exception as error:
        raise BadInput(
            f"{checkpoint} holds no readable checkpoint ({str(error).splitlines()[0]}): start the query first"
        ) from None
    return sorted({int(row["operatorId"]) for row in metadata if "transformWithState" in row["operatorName"]})


def _read(spark: SparkSession, board: Board, checkpoint: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for operator in stateful_operators(spark, checkpoint):
        values = slot_values(spark, checkpoint, operator)
        checked = values.groupBy("partition").applyInArrow(_verifier(board.operators()), _FOUND_DDL)
        found += [row.asDict() for row in checked.collect()]
    return found


def slot_values(spark: SparkSession, checkpoint: str, operator: int) -> DataFrame:
    """The head (key null), the journal and the pages of every slot of one operator: partition, key, bytes."""
    options = {"operatorId": operator, "stateVarName": VALUES, "path": checkpoint}
    values = spark.read.format("statestore").options(**options).load()
    key = fn.col("user_map_key.key")
    return values.select(
        fn.col("partition_id").alias("partition"),
        fn.when(key != HEAD_KEY, key).alias("key"),
        fn.col("user_map_value.bytes"),
    )


def _verifier(operators: dict[str, Any]) -> Any:
    def verify(values: pa.Table) -> pa.Table:
        slot = values.column("partition")[0].as_py()
        pairs = list(zip(values.column("key").to_pylist(), values.column("bytes").to_pylist(), strict=True))
        return pa.Table.from_pylist(list(_verdicts(slot, pairs, operators)), schema=_FOUND)

    return verify


def _verdicts(slot: int, pairs: list[tuple[int | None, bytes]], operators: dict[str, Any]) -> Iterator[dict[str, Any]]:
    head = next((value for key, value in pairs if key is None), None)
    try:
        operator, ledger = open_slot(
            head, {k: v for k, v in pairs if k is not None}, operators, f"the state of slot {slot}"
        )
    except WhimbrelError as error:
        yield {"slot": slot, "fault": str(error)}
        return
    yield {"operator": operator, "slot": slot}
    for b, stamp in ledger.owned.items():
        yield {"operator": operator, "slot": slot, "bin": b, "stamp": stamp, "rows": ledger.rows_of(b)}
