"""Events for the tests: the generator's, and a foreign stream with every irregularity that readers must bear."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from whimbrel.nexmark.events import generate
from whimbrel.nexmark.events.rules import Rules
from whimbrel.nexmark.events.schema import KINDS, TIME

BASE = datetime(2015, 7, 15, tzinfo=timezone.utc)
Event = tuple[str, dict[str, Any]]


def generated(count: int, rules: Rules | None = None) -> list[Event]:
    """The generator's events as (kind, record), in order of arrival."""
    return unwrapped(generate(0, count, rules or Rules()).interleaved())


def unwrapped(events: pa.RecordBatch | pa.Table) -> list[Event]:
    """Rows of the three structs as (kind, record)."""
    return [next((kind, row[kind]) for kind in KINDS if row[kind] is not None) for row in events.to_pylist()]


def tables(events: list[Event]) -> dict[str, pa.Table]:
    """One Arrow table per kind."""
    return {
        kind: pa.Table.from_pylist([record for each, record in events if each == kind], schema=schema)
        for kind, schema in KINDS.items()
    }


def foreign(count: int, seed: int) -> list[Event]:
    """Few keys, tied prices, late events, and a null in every tenth field."""
    rng = random.Random(seed)
    return [_foreign_event(rng, number) for number in range(count)]


def _foreign_event(rng: random.Random, number: int) -> Event:
    kind = "person" if number % 6 == 0 else rng.choices(("auction", "bid"), (3, 13))[0]
    at = BASE + timedelta(milliseconds=number * 40 - (rng.randrange(9000) if rng.random() < 0.2 else 0))
    record: dict[str, Any] = {}
    for field in KINDS[kind]:
        if field.type == TIME:
            record[field.name] = at
        elif field.type == pa.int64():
            record[field.name] = rng.randrange(1, 30)
        else:
            record[field.name] = rng.choice(("OR", "ID", "CA", "WA", 'a "quoted" naïve\nname', ""))
    if kind in ("person", "auction"):
        record["id"] = number
    if kind == "auction":
        record["expires"] = at + timedelta(milliseconds=rng.randrange(1, 20_000))
        record["category"] = rng.choice((10, 11))
        record["seller"] = 6 * rng.randrange(max(number // 6 - 15, 0), number // 6 + 2)
        record["reserve"] = rng.randrange(1, 15)
    if kind == "bid":
        record["auction"] = rng.randrange(max(number - 60, 0), number + 10)
        record["price"] *= rng.choice((1, 1, 1, 1_000, 200_000))
    nullable = [name for name in record if name != "id"]
    for name in nullable:
        if rng.random() < 0.03:
            record[name] = None
    return kind, record


def as_json_lines(events: list[Event], seed: int = 0) -> str:
    """The events as a stranger would write them: fields in any order, extra ones, nulls left out or written out."""
    rng = random.Random(seed)
    lines = []
    for kind, record in events:
        fields = [(name, _as_json(value, rng)) for name, value in record.items()]
        fields = [pair for pair in fields if pair[1] is not None or rng.random() < 0.5]
        fields.append(("channel", {"name": "web", "codes": [1, 2]}))
        rng.shuffle(fields)
        lines.append(json.dumps({"source": "elsewhere", kind: dict(fields)}))
    return "\n".join(lines) + "\n"


def _as_json(value: Any, rng: random.Random) -> Any:
    if not isinstance(value, datetime):
        return value
    if rng.random() < 0.5:
        return round(value.timestamp() * 1000)
    return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"


def write_foreign(path: Path, events: list[Event]) -> Path:
    """The events as one file of JSON lines; returns the directory to read."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "events.jsonl").write_text(as_json_lines(events), encoding="utf-8")
    return path
