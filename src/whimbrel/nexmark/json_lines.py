"""JSON lines read one by one: slower than Arrow's reader, bears mixed forms, and names the line at fault."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.schema import EVENT, FIRST_TIME, KINDS, LAST_TIME, TIME

_START = datetime(1970, 1, 1, tzinfo=timezone.utc)


def read_lines(path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of a file in the shape of EVENT or of one kind; BadInput names the line and the field."""
    rows = [_row(line, schema, f"{path}, line {number}") for number, line in _lines(path) if line.strip()]
    return pa.Table.from_pylist(rows, schema=schema)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as lines:
            yield from enumerate(lines, 1)
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise BadInput(f"{path} is damaged, or not compressed by gzip as its name says") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None


def _row(line: str, schema: pa.Schema, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}: not JSON ({error.msg} at column {error.colno})") from None
    except RecursionError:
        raise BadInput(f"{where}: nested too deeply") from None
    if not isinstance(value, dict):
        raise BadInput(f"{where}: a JSON {type(value).__name__}, where an object is needed")
    if schema is not EVENT:
        return _fields(_unwrapped(value, schema), schema, where)
    kinds = [kind for kind in KINDS if value.get(kind) is not None]
    if len(kinds) != 1 or not isinstance(value[kinds[0]], dict):
        raise BadInput(f"{where}: needs exactly one of the objects person, auction and bid")
    return {kinds[0]: _fields(value[kinds[0]], KINDS[kinds[0]], where)}


def _unwrapped(value: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """In the folder of a kind a record may stand bare, or under the name of its kind."""
    (kind,) = (kind for kind, each in KINDS.items() if each is schema)
    inner = value.get(kind)
    return inner if isinstance(inner, dict) else value


def _fields(value: dict[str, Any], schema: pa.Schema, where: str) -> dict[str, Any]:
    return {field.name: _converted(value.get(field.name), field, where) for field in schema}


def _converted(value: Any, field: pa.Field, where: str) -> Any:
    if value is None:
        return None
    if field.type == TIME:
        return _instant(value, field.name, where)
    if field.type == pa.string():
        return _text(value, f"{where}: {field.name}")
    whole = _whole(value)
    if whole is None:
        raise BadInput(f"{where}: {field.name} is {_shown(value)}, where a whole number is needed")
    if not -(1 << 63) <= whole < 1 << 63:
        raise BadInput(f"{where}: {field.name} is {value}, which does not fit into 64 bits")
    return whole


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def _text(value: Any, where: str) -> str:
    """Text as it is; anything else as the JSON that it was."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{where} has half of a surrogate pair, which is no text") from None
    return text


def _instant(value: Any, name: str, where: str) -> datetime:
    """Whole milliseconds since 1970, or ISO 8601 text, in UTC where it names no zone."""
    whole = _whole(value)
    try:
        if whole is not None:
            found = _START + timedelta(milliseconds=whole)
        else:
            parsed = datetime.fromisoformat(str(value).replace("Z", "+00:00").replace(" ", "T"))
            found = parsed.replace(tzinfo=timezone.utc) if parsed.tzinfo is None else parsed.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise BadInput(f"{where}: {name} is {_shown(value)}: write ISO 8601 text or milliseconds since 1970") from None
    if name == "dateTime" and not FIRST_TIME <= found < LAST_TIME:
        raise BadInput(f"{where}: {name} is in {found.year}: events happen from 1970 to 2099; milliseconds are meant")
    return found


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
