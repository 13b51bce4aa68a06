"""Initial state: rows of a DataFrame that an operator's tables begin with.

The rows are written beside the job before it begins, and read by the stream's first epoch through Spark's own file source, so they
count exactly once however often that epoch is repeated. A restart finds them there and needs no DataFrame again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whimbrel.control.stores import Store
from whimbrel.model.errors import BadInput, JobMismatch
from whimbrel.runtime.operator import Operator
from whimbrel.runtime.operators.seeded import Seed, Seeded
from whimbrel.runtime.schemas import arrow_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = "initial"


def with_initial(
    spark: SparkSession, store: Store, directory: str, operator: Operator, initial: Mapping[str, DataFrame]
) -> tuple[Operator, list[DataFrame]]:
    """The operator with its seeds, and their streams; the operator itself where there are none.

    Raises BadInput for rows that do not fit, JobMismatch where the job has already begun without them.
    """
    known = [spec.name for spec in operator.tables()]
    for table, rows in initial.items():
        if table not in known:
            raise BadInput(
                f"initial names a table {table!r}: operator {operator.name!r} has {', '.join(known) or 'none'}"
            )
        _write_once(store, directory, operator, table, rows)
    seeds, streams = [], []
    for table in known:
        if store.get(_marker(operator, table)) is not None:
            schema = spark.read.parquet(_path(directory, operator, table)).schema
            seeds.append(Seed(table, arrow_of(schema)))
            streams.append(spark.readStream.schema(schema).parquet(_path(directory, operator, table)))
    return (Seeded(operator, seeds), streams) if seeds else (operator, [])


def _write_once(store: Store, directory: str, operator: Operator, table: str, rows: DataFrame) -> None:
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema

    if rows.isStreaming:
        raise BadInput(f"the initial rows of {operator.name!r} are a stream: give a DataFrame of spark.read")
    wanted = operator.begins_with(table, arrow_of(rows.schema))
    begun = bool(store.names("checkpoint/offsets") or store.names("control/seals"))
    written = store.get(_marker(operator, table)) is not None
    if begun and written:
        return
    if begun:
        raise JobMismatch(
            f"{directory} has begun without initial rows for operator {operator.name!r}: state begins in the first epoch; "
            "choose another directory for a new job"
        )
    kinds = from_arrow_schema(wanted)
    columns = [fn.col(f"`{field.name}`").cast(field.dataType).alias(field.name) for field in kinds]
    store.remove(_marker(operator, table))
    rows.select(*columns).write.mode("overwrite").parquet(_path(directory, operator, table))
    store.put_if_absent(_marker(operator, table), b"written")


def _marker(operator: Operator, table: str) -> str:
    return f"control/{FOLDER}/{operator.name}/{table}"


def _path(directory: str, operator: Operator, table: str) -> str:
    return f"{directory}/{FOLDER}/{operator.name}/{table}"
