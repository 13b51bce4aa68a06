"""Which rows of a group are best, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Best:
    """Which bids are best: the first ``count`` of each group in this order; nulls come last either way."""

    group: tuple[str, ...]
    order: tuple[tuple[str, str], ...]
    count: int

    def ranked(self, rows: pa.Table) -> pa.Table:
        """The best rows of each group, with ``rank`` from 0."""
        keys = [(name, "ascending") for name in self.group] + list(self.order)
        rows = rows.take(pc.sort_indices(rows, sort_keys=keys))
        starts = np.zeros(rows.num_rows, np.bool_)
        starts[:1] = True
        for name in self.group:
            column = rows.column(name).to_numpy()
            starts[1:] |= column[1:] != column[:-1]
        first = np.flatnonzero(starts)
        rank = np.arange(rows.num_rows) - np.repeat(first, np.diff(np.append(first, rows.num_rows)))
        return rows.append_column("rank", pa.array(rank, pa.int64())).filter(pa.array(rank < self.count))
