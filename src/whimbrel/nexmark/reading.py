"""Events from files as DataFrames: our three folders, or JSON lines that carry the kinds side by side.

Fields may come in any order, be missing or null, and have company that we do not know. Instants may be
ISO 8601 text or whole milliseconds since 1970; text without a zone is UTC when the session's zone is. In the folder of a
kind a record may stand bare or under the name of its kind. What cannot be read stops the query: nothing becomes null.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.schema import KINDS, TIME
from whimbrel.nexmark.streams import Streams, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_JSON = ("*.json", "*.jsonl", "*.ndjson", "*.json.gz", "*.jsonl.gz", "*.ndjson.gz")


def has_folders(path: Path) -> bool:
    """Whether the directory has a folder for a kind of event; a kind without one has no events."""
    return any((path / kind).is_dir() for kind in KINDS)


def read_streams(spark: SparkSession, path: Path | str, *, streaming: bool = True) -> Streams:
    """The events under ``path`` as streaming (or batch) DataFrames.

    Raises BadInput where the path holds neither folders of JSON lines or Parquet nor JSON lines. A line that cannot be
    read fails the query that reads it, as Spark's mode FAILFAST does.
    """
    root = Path(path)
    if not root.exists():
        raise BadInput(f"{root}: there is no such file or directory")
    if root.is_dir() and has_folders(root):
        return _from_folders(spark, root, streaming)
    lines = _read_json(spark, root, _loose_schema(), streaming)
    # Spark prunes what nobody reads, so every kind carries the check.
    one_each = (f"IF({_KINDS_GIVEN} = 1, {_struct(kind, kind + '.')}, {_NOT_ONE_KIND}) AS {kind}" for kind in KINDS)
    return Streams.of(lines.selectExpr(*one_each))


def _from_folders(spark: SparkSession, root: Path, streaming: bool) -> Streams:
    there = {kind: _read_kind(spark, root / kind, kind, streaming) for kind in KINDS if (root / kind).is_dir()}
    some = next(iter(there.values()))
    kinds = {kind: there[kind] if kind in there else _none_of(kind, some) for kind in KINDS}
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
    if not any(file for pattern in _JSON for file in folder.glob(pattern)):
        raise BadInput(f"{folder} holds neither JSON lines (*.jsonl) nor Parquet (*.parquet)")
    fields = _loose_fields(kind)
    rows = _read_json(spark, folder, f"{fields}, {kind} STRUCT<{fields}>", streaming)
    bare, wrapped = _columns(kind, ""), _columns(kind, f"{kind}.")
    return rows.selectExpr(*(f"IF({kind} IS NULL, {bare[name]}, {wrapped[name]}) AS `{name}`" for name in bare))


def _read_json(spark: SparkSession, path: Path, schema: str, streaming: bool) -> DataFrame:
    reader = spark.readStream if streaming else spark.read
    return reader.schema(schema).option("mode", "FAILFAST").json(str(path))


def _none_of(kind: str, some: DataFrame) -> DataFrame:
    """A stream of a kind that has no folder: that of another kind, of which no row is taken."""
    nulls = (f"CAST(NULL AS {each.dataType.simpleString()}) AS `{each.name}`" for each in spark_schema(kind))
    return some.where("false").selectExpr(*nulls)


_KINDS_GIVEN = " + ".join(f"CAST({kind} IS NOT NULL AS INT)" for kind in KINDS)
_NOT_ONE_KIND = "raise_error('a line needs exactly one of the objects person, auction and bid')"


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
    found = f"coalesce(timestamp_millis(try_cast({text} AS BIGINT)), try_cast({text} AS TIMESTAMP))"
    fault = f"raise_error(concat({text}, ': write ISO 8601 text or milliseconds since 1970'))"
    return f"IF({text} IS NOT NULL AND {found} IS NULL, {fault}, {found})"


def _struct(kind: str, prefix: str) -> str:
    fields = ", ".join(f"'{name}', {value}" for name, value in _columns(kind, prefix).items())
    return f"IF({kind} IS NULL, NULL, named_struct({fields}))"


def _wrap(each: str, kind: str) -> str:
    if each != kind:
        return f"CAST(NULL AS {spark_schema(each).simpleString()})"
    return f"struct({', '.join(f'`{field.name}`' for field in KINDS[kind])})"
