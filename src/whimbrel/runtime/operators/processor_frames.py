"""The frames that a processor is given and those that it answers with.

Every key gets a real DataFrame as in Spark: labelled from 0, whole numbers of 64 bits, times without a zone in the
session's. Answers are gathered and become Arrow in runs of frames with equal columns and types, which costs a fraction
of one conversion per frame and gives the same values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from whimbrel.model.errors import OperatorFailed
from whimbrel.runtime.operators.local_times import local_type, to_instants, to_local
from whimbrel.runtime.operators.python_values import dismantled, plain

Labels = tuple[Any, ...]
_FRAMES_PER_RUN = 512
"""How many answers wait at most: each holds a few kilobytes."""


def frames_of(batch: pa.RecordBatch, counts: npt.NDArray[np.int64], zone: str) -> Iterator[pd.DataFrame]:
    """A frame per key from rows that lie key by key; ``counts`` are the rows of each."""
    frame = to_pandas(batch, zone)
    starts = np.cumsum(counts) - counts
    frame.index = pd.Index(np.arange(len(frame)) - np.repeat(starts, counts))
    number = np.repeat(np.arange(len(counts)), counts)
    return (part for _, part in frame.groupby(number, sort=False))


def to_pandas(batch: pa.RecordBatch, zone: str) -> pd.DataFrame:
    """Rows as Spark shows them to a processor."""
    arrays = [_widened(to_local(column, zone)) for column in batch.columns]
    table = pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
    return table.to_pandas(date_as_object=True, coerce_temporal_nanoseconds=True, maps_as_pydicts="strict")


def key_tuples(keys: pa.RecordBatch, zone: str) -> list[tuple[Any, ...]]:
    """The keys as Spark names them."""
    frame = to_pandas(keys, zone) if keys.num_rows else pd.DataFrame()
    return list(zip(*(_key_column(keys.column(i), frame, i) for i in range(keys.num_columns)), strict=True))


class Answers:
    """Gathers a processor's frames; ``batches`` are its answers in the types of ``schema``."""

    def __init__(self, schema: pa.Schema, zone: str) -> None:
        self._schema, self._zone = schema, zone
        self._waiting: list[pd.DataFrame] = []
        self._done: list[pa.RecordBatch] = []

    def take(self, frames: Iterable[Any]) -> None:
        """Takes what one call of the processor yields."""
        for frame in frames:
            if not isinstance(frame, pd.DataFrame):
                raise OperatorFailed(
                    f"the processor yielded {type(frame).__name__} where a pandas.DataFrame belongs; "
                    "the state is as before the epoch: mend the processor and restart the query"
                )
            self._waiting.append(frame)
        if len(self._waiting) >= _FRAMES_PER_RUN:
            self._convert()

    def batches(self) -> list[pa.RecordBatch]:
        """All answers so far, in order."""
        self._convert()
        done, self._done = self._done, []
        return pa.Table.from_batches(done, self._schema).combine_chunks().to_batches() if done else []

    def _convert(self) -> None:
        frames, self._waiting = [frame for frame in self._waiting if len(frame)], []
        for (labels, _), run in groupby(map(_opened, frames), key=lambda opened: opened[0]):
            columns = [arrays for _, arrays in run]
            self._done.append(self._batch(labels, columns))

    def _batch(self, labels: Labels, frames: list[list[Any]]) -> pa.RecordBatch:
        places = _places(labels, self._schema.names)
        try:
            return self._converted(places, frames)
        except (pa.ArrowException, TypeError, ValueError):
            # What fits frame by frame may not fit together: numbers and texts in two columns of objects.
            if len(frames) == 1:
                raise
            parts = [self._converted(places, [frame]) for frame in frames]
            return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]

    def _converted(self, places: list[int], frames: list[list[Any]]) -> pa.RecordBatch:
        columns = [_joined([frame[place] for frame in frames]) for place in places]
        arrays = [_to_arrow(c, f.type, self._zone) for c, f in zip(columns, self._schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _widened(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    return column.cast(pa.float64()) if pa.types.is_floating(column.type) else column


def _key_column(column: pa.Array, frame: pd.DataFrame, place: int) -> list[Any]:
    if pa.types.is_temporal(column.type) and len(column):
        return list(frame.iloc[:, place])
    return column.to_pylist()  # type: ignore[no-any-return]


def _opened(frame: pd.DataFrame) -> tuple[tuple[Labels, tuple[Any, ...]], list[Any]]:
    """What must be equal for two frames to go together, and the columns."""
    # A Series per column, the public way, costs as much as what the processor did to make the frame.
    labels = tuple(frame.columns)
    arrays = [frame._get_column_array(place) for place in range(len(labels))]  # type: ignore[operator]
    return (labels, tuple([array.dtype for array in arrays])), arrays


def _places(labels: Labels, names: Sequence[str]) -> list[int]:
    """Where a frame has the columns of the answer: by name where it has any name, else in their order, as in Spark."""
    if any(isinstance(label, str) for label in labels):
        missing = [name for name in names if name not in labels]
        if not missing:
            return [labels.index(name) for name in names]
        what = "lacks " + ", ".join(repr(name) for name in missing)
    elif len(labels) >= len(names):
        return list(range(len(names)))
    else:
        what = f"has {len(labels)} columns where the schema has {len(names)}"
    raise OperatorFailed(
        f"a frame that the processor yielded {what}: it has {list(labels)}, the schema {list(names)}; "
        "the state is as before the epoch: mend the processor and restart the query"
    )


def _joined(arrays: list[Any]) -> pd.Series[Any]:
    if len(arrays) == 1:
        return pd.Series(arrays[0])
    if isinstance(arrays[0].dtype, np.dtype):
        return pd.Series(np.concatenate(arrays))
    return pd.concat([pd.Series(array) for array in arrays], ignore_index=True)


def _to_arrow(series: pd.Series[Any], kind: pa.DataType, zone: str) -> pa.Array:
    local = local_type(kind)
    values: Any = series
    if isinstance(series.dtype, pd.CategoricalDtype):
        values = series.astype(series.cat.categories.dtype)
    elif isinstance(series.dtype, pd.DatetimeTZDtype):
        values = series.dt.tz_convert(zone).dt.tz_localize(None)
    elif series.dtype == object and (pa.types.is_nested(kind) or pa.types.is_temporal(kind)):
        values = dismantled([plain(value, zone) for value in series], kind)
    try:
        array = pa.array(values, local, from_pandas=True)
    except pa.ArrowInvalid:
        array = pa.array(values, from_pandas=True).cast(local)
    return to_instants(array, kind, zone)
