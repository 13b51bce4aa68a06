"""Arrow batches as the pandas frames that Spark's Python state API asks for, without passing through objects.

Flat columns travel as Arrow-backed pandas columns, which Spark turns back into Arrow without a copy. Nested ones
become Python values, because Spark's own converter expects those.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa


def to_frame(batch: pa.RecordBatch) -> pd.DataFrame:
    """The frame of a batch, same columns, same order."""
    columns = {field.name: _to_series(batch.column(i)) for i, field in enumerate(batch.schema)}
    return pd.DataFrame(columns)


def _to_series(column: pa.Array) -> pd.Series:
    if pa.types.is_nested(column.type):
        return column.to_pandas(maps_as_pydicts="strict")
    return column.to_pandas(types_mapper=pd.ArrowDtype)
