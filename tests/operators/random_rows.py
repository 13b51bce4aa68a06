"""Random rows with what streams are made of: duplicates, nulls, rows out of order and rows that come too late."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa

BEGIN = datetime(2024, 1, 1, tzinfo=timezone.utc)
SCHEMA = pa.schema([("k", pa.string()), ("at", pa.timestamp("us", tz="UTC")), ("v", pa.int64()), ("x", pa.float64())])


def instant(seconds: float) -> datetime:
    """That many seconds after the beginning."""
    return BEGIN + timedelta(seconds=float(seconds))


def batches(rng: np.random.Generator, count: int, rows: int, step: float = 20.0, keys: int = 9) -> list[pa.Table]:
    """``count`` micro-batches whose times advance by ``step`` seconds each, and one last row far in the future."""
    made = [batch(rng, rows, n * step, step, keys) for n in range(count)]
    end = {"k": "end", "at": instant(100_000), "v": 0, "x": 0.0}
    return [*made, pa.Table.from_pylist([end], schema=SCHEMA)]


def batch(rng: np.random.Generator, rows: int, begin: float, step: float, keys: int) -> pa.Table:
    """Rows around ``begin``; about one in eight far too late, one in ten without a time or a key or a value."""
    found: list[dict[str, Any]] = []
    for _ in range(rows):
        late = rng.random() < 0.12
        at = begin + rng.integers(-1000, 0) / 10 if late else begin + rng.integers(0, int(step * 10)) / 10
        row = {
            "k": _or_null(rng, f"k{rng.integers(keys)}"),
            "at": _or_null(rng, instant(max(0.0, at))),
            "v": _or_null(rng, int(rng.integers(-50, 50))),
            "x": _or_null(rng, float(rng.integers(-400, 400)) / 8),
        }
        found += [row] * (2 if rng.random() < 0.1 else 1)
    return pa.Table.from_pylist(found, schema=SCHEMA)


def _or_null(rng: np.random.Generator, value: Any) -> Any:
    return None if rng.random() < 0.07 else value


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def since_epoch(seconds: float) -> datetime:
    """That many seconds after 1970, where the first watermark stands."""
    return EPOCH + timedelta(seconds=seconds)
