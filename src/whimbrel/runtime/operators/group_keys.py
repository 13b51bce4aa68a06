"""Keys as groups show them: of numbers that are equal one stands for all, whichever row came first.

-0.0 and 0.0 are one key, and Spark shows it as 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def group_keys(rows: pa.RecordBatch, names: Sequence[str], first: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """The key columns of these rows, one of each group.

    >>> group_keys(pa.record_batch({"k": [1.5, -0.0], "v": [1, 2]}), ["k"], np.array([1, 0])).to_pydict()
    {'k': [0.0, 1.5]}
    """
    keys = rows.select(list(names)).take(pa.array(first))
    if not any(pa.types.is_floating(kind) for kind in keys.schema.types):
        return keys
    return pa.RecordBatch.from_arrays([_normal(column) for column in keys.columns], schema=keys.schema)


def _normal(column: pa.Array) -> pa.Array:
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column
