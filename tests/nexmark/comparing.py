"""Multisets of rows, with the rows that differ in the failure message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
    return value


def multiset(rows: Iterable[Iterable[Any]]) -> Counter[tuple[Any, ...]]:
    """Counts of equal rows; instants compare as instants."""
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def from_arrow(table: Any) -> Counter[tuple[Any, ...]]:
    """The rows of an Arrow table."""
    return multiset(row.values() for row in table.to_pylist())


def assert_same(found: Counter[tuple[Any, ...]], wanted: Counter[tuple[Any, ...]], name: str) -> None:
    """Equal as multisets; else the message shows up to five rows of each side."""
    extra, missing = list((found - wanted).items())[:5], list((wanted - found).items())[:5]
    assert not extra and not missing, f"{name}: too much {extra}, missing {missing}"
