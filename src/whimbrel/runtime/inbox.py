"""What reached a slot in an epoch: payloads in mapper order, unpacked into one batch per side.

The shuffle delivers in any order; sorting by (side, mapper, sequence) makes a retried task see the same rows in
the same order, so that even floating point sums come out the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from whimbrel.runtime.operator import Operator, Rows
from whimbrel.runtime.packing import as_batch, unpack
from whimbrel.state.hashing import KeyHashes, hash_keys

_EMPTY = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Inbox:
    """The rows of every side, and how many raw rows each bin got."""

    sides: tuple[Rows, ...]
    bins: npt.NDArray[np.int64]
    rows_per_bin: npt.NDArray[np.int64]


def read_inbox(frames: Iterator[pd.DataFrame], operator: Operator) -> Inbox:
    """Unpack all payloads of a slot's epoch."""
    letters = [
        (int(side), int(mapper), int(sequence), payload)
        for frame in frames
        for side, mapper, sequence, payload in zip(
            frame["side"], frame["mapper"], frame["sequence"], frame["payload"], strict=True
        )
        if side >= 0
    ]
    letters.sort(key=lambda letter: letter[:3])
    batches: list[list[pa.RecordBatch]] = [[] for _ in operator.sides]
    bins, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for side, _, _, payload in letters:
        batch, counted, counts = unpack(payload)
        if batch.num_rows or not batches[side]:
            batches[side].append(batch)
        bins.append(counted)
        rows.append(counts)
    sides = tuple(_rows(held, operator, side) for side, held in enumerate(batches))
    return Inbox(sides, np.concatenate(bins), np.concatenate(rows))


def _rows(held: list[pa.RecordBatch], operator: Operator, side: int) -> Rows:
    if not held:
        return Rows(pa.RecordBatch.from_pylist([], schema=pa.schema([])), KeyHashes(_EMPTY, _EMPTY))
    batch = held[0] if len(held) == 1 else as_batch(pa.Table.from_batches(held))
    return Rows(batch, hash_keys([batch.column(key) for key in operator.sides[side].keys]))
