"""Event time as the operators count it: microseconds since 1970, against a watermark in milliseconds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

INSTANT = pa.timestamp("us", tz="UTC")
Instants = npt.NDArray[np.int64]


def micros_of(column: pa.Array) -> pa.Array:
    """A timestamp column as microseconds since 1970."""
    return column.cast(pa.timestamp("us", tz=column.type.tz)).view(pa.int64())


def instants_of(micros: Instants | pa.Array) -> pa.Array:
    """Microseconds since 1970 as timestamps."""
    return pa.array(micros, pa.int64()).view(INSTANT)


def is_late(column: pa.Array, watermark_ms: int) -> npt.NDArray[np.bool_]:
    """Which rows are at or before the watermark; a row without a time never is."""
    times = micros_of(column)
    known = times.is_valid().to_numpy(zero_copy_only=False)
    return known & (times.fill_null(0).to_numpy(zero_copy_only=False) <= watermark_ms * 1000)  # type: ignore[no-any-return]


def timed(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Which rows have a time."""
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
