"""Events from files as DataFrames: our three folders, or JSON lines that carry the kinds side by side.

Fields may come in any order, be missing or null, and have company that we do not know. Instants may be
ISO 8601 text or whole milliseconds since 1970; text without a zone is UTC when the session's zone is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.schema import KINDS, TIME
from whimbrel.nexmark.streams import Streams, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def has_three_folders(path: Path) -> bool:
    """Whether the directory has one folder for each kind of event."""
    return all((path / kind).is_dir() for kind in KINDS)


def read_streams(spark: SparkSession, path: Path | str, *, streaming: bool = True) -> Streams:
    """The events under ``path`` as streaming (or batch) DataFrames.

    Raises BadInput where the path holds neither three folders of JSON lines or Parquet nor JSON lines.
    """
    root = Path(path)
    if not root.exists():
        raise BadInput(f"{root}: there is no such file or directory")
    if root.is_dir() and has_three_folders(root):
        return _from_folders(spark, root, streaming)
    reader = spark.readStream if streaming else spark.read
    lines = reader.schema(_loose_schema()).json(str(root))
    events = lines.selectExpr(*(f"{_struct(kind, kind + '.')} AS {kind}" for kind in KINDS))
    return Streams.of(events)


def _from_folders(spark: SparkSession, root: Path, streaming: bool) -> Streams:
    kinds = {kind: _read_kind(spark, root / kind, kind, streaming) for kind in KINDS}
    events: DataFrame | None = None
    for kind, rows in kinds.items():
        wrapped = rows.selectExpr(*(f"{_wrap(each, kind)} AS {each}" for each in KINDS))
        events = wrapped if events is None else events.unionByName(wrapped)
    assert events is not None
    return Streams(events, kinds["person"], kinds["auction"], kinds["bid"])


def _read_kind(spark: SparkSession, folder: Path, kind: str, streaming: bool) -> DataFrame:
    reader = spark.readStream if streaming else spark.read
    if any(folder.glob("*.parquet")):
        return reader.schema(spark_schema(kind)).parquet(str(folder))
    if not any(folder.glob("*.json*")):
        raise BadInput(f"{folder} holds neither JSON lines (*.jsonl) nor Parquet (*.parquet)")
    rows = reader.schema(_loose_fields(kind)).json(str(folder))
    return rows.selectExpr(*(f"{value} AS `{name}`" for name, value in _columns(kind, "").items()))


def _loose_schema() -> str:
    return ", ".join(f"{kind} STRUCT<{_loose_fields(kind)}>" for kind in KINDS)


def _loose_fields(kind: str) -> str:
    """Instants are read as text: Spark's JSON reader would take whole numbers for seconds."""
    return ", ".join(f"`{each.name}` {'BIGINT' if str(each.type) == 'int64' else 'STRING'}" for each in KINDS[kind])


def _columns(kind: str, prefix: str) -> dict[str, str]:
    return {
        each.name: _instant(f"{prefix}`{each.name}`") if each.type == TIME else f"{prefix}`{each.name}`"
        for each in KINDS[kind]
    }


def _instant(text: str) -> str:
    return f"coalesce(timestamp_millis(try_cast({text} AS BIGINT)), try_cast({text} AS TIMESTAMP))"


def _struct(kind: str, prefix: str) -> str:
    fields = ", ".join(f"'{name}', {value}" for name, value in _columns(kind, prefix).items())
    return f"IF({kind} IS NULL, NULL, named_struct({fields}))"


def _wrap(each: str, kind: str) -> str:
    if each != kind:
        return f"CAST(NULL AS {spark_schema(each).simpleString()})"
    return f"struct({', '.join(f'`{field.name}`' for field in KINDS[kind])})"
