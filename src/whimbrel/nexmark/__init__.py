"""NEXMark, the auction benchmark of stream processing, for PySpark: events, reference answers and queries.

``from whimbrel import nexmark`` is cheap; what needs Spark is loaded when it is first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Rules": "whimbrel.nexmark.events",
    "Schedule": "whimbrel.nexmark.events",
    "Settings": "whimbrel.nexmark.settings",
    "Streams": "whimbrel.nexmark.streams",
    "duckdb_answer": "whimbrel.nexmark.reference",
    "generate": "whimbrel.nexmark.events",
    "migratable_query": "whimbrel.nexmark.queries",
    "native_query": "whimbrel.nexmark.native",
    "plain_answer": "whimbrel.nexmark.reference",
    "read_events": "whimbrel.nexmark.arrivals",
    "read_streams": "whimbrel.nexmark.reading",
    "register": "whimbrel.nexmark.source",
    "settings_of": "whimbrel.nexmark.settings",
    "spark_answer": "whimbrel.nexmark.reference",
    "stream": "whimbrel.nexmark.source",
    "write_files": "whimbrel.nexmark.events",
}

__all__ = [
    "Rules",
    "Schedule",
    "Settings",
    "Streams",
    "duckdb_answer",
    "generate",
    "migratable_query",
    "native_query",
    "plain_answer",
    "read_events",
    "read_streams",
    "register",
    "settings_of",
    "spark_answer",
    "stream",
    "write_files",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whimbrel.nexmark' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
