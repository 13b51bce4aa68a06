"""JSON lines read one by one: slower than Arrow's reader, bears mixed forms, and names the line at fault."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.schema import EVENT, KINDS, TIME

_START = datetime(1970, 1, 1, tzinfo=timezone.utc)


def read_lines(path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of a file in the shape of EVENT or of one kind; BadInput names the line and the field."""
    rows = []
    with path.open(encoding="utf-8", errors="strict") as lines:
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    rows.append(_row(line, schema, f"{path}, line {number}"))
        except UnicodeDecodeError:
            raise BadInput(f"{path} is not UTF-8 text") from None
    return pa.Table.from_pylist(rows, schema=schema)


def _row(line: str, schema: pa.Schema, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}: not JSON ({error.msg} at column {error.colno})") from None
    if not isinstance(value, dict):
        raise BadInput(f"{where}: a JSON {type(value).__name__}, where an object is needed")
    if schema is not EVENT:
        return _fields(value, schema, where)
    kinds = [kind for kind in KINDS if value.get(kind) is not None]
    if len(kinds) != 1 or not isinstance(value[kinds[0]], dict):
        raise BadInput(f"{where}: needs exactly one of the objects person, auction and bid")
    return {kinds[0]: _fields(value[kinds[0]], KINDS[kinds[0]], where)}


def _fields(value: dict[str, Any], schema: pa.Schema, where: str) -> dict[str, Any]:
    return {field.name: _converted(value.get(field.name), field, where) for field in schema}


def _converted(value: Any, field: pa.Field, where: str) -> Any:
    if value is None:
        return None
    if field.type == TIME:
        return _instant(value, f"{where}: {field.name}")
    if field.type == pa.string():
        return value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise BadInput(f"{where}: {field.name} is {value!r}, where a whole number is needed")
    if not -(1 << 63) <= value < 1 << 63:
        raise BadInput(f"{where}: {field.name} is {value}, which does not fit into 64 bits")
    return int(value)


def _instant(value: Any, where: str) -> datetime:
    """Whole milliseconds since 1970, or ISO 8601 text, in UTC where it names no zone."""
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return _START + timedelta(milliseconds=value)
        parsed = datetime.fromisoformat(str(value).replace("Z", "+00:00").replace(" ", "T"))
    except (ValueError, OverflowError):
        raise BadInput(f"{where} is {value!r}: write ISO 8601 text or milliseconds since 1970") from None
    return parsed.replace(tzinfo=timezone.utc) if parsed.tzinfo is None else parsed
