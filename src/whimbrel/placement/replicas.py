"""How many pieces on each server read each source, in rows no longer than needed, for compiled kernels.

A source with at least as many readers as there are servers has a row with one counter per server. Any other has a row
with one (server, count) pair per server that it reaches, found by looking along the row, which is short: the number
of pairs is at most the number of its readers. All rows together are no longer than the readers of all sources.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.placement.instance import Integers

Rows = tuple[Integers, Integers, Integers, Integers]


def new_rows(readers: Integers, servers: int) -> Rows:
    """Empty rows (offsets, used, server, count) for sources with these numbers of readers."""
    offsets = np.concatenate(([0], np.cumsum(np.minimum(readers, servers)))).astype(np.int64)
    used = np.where(readers >= servers, -1, 0).astype(np.int32)
    return offsets, used, np.zeros(offsets[-1], dtype=np.int32), np.zeros(offsets[-1], dtype=np.int32)


@njit(cache=True, inline="always")
def place_of(s, j, rows):  # type: ignore[no-untyped-def]
    """Where the counter of source ``s`` on server ``j`` is; -1 where the row has none."""
    offsets, used, server, _ = rows
    if used[s] < 0:
        return offsets[s] + j
    for place in range(offsets[s], offsets[s] + used[s]):
        if server[place] == j:
            return place
    return -1


@njit(cache=True, inline="always")
def count_of(s, j, rows):  # type: ignore[no-untyped-def]
    """How many pieces on server ``j`` read source ``s``."""
    place = place_of(s, j, rows)
    return rows[3][place] if place >= 0 else 0


@njit(cache=True)
def add_reader(s, j, rows):  # type: ignore[no-untyped-def]
    """One more piece on ``j`` reads ``s``."""
    offsets, used, server, count = rows
    place = place_of(s, j, rows)
    if place < 0:
        place = offsets[s] + used[s]
        used[s] += 1
        server[place], count[place] = j, 0
    count[place] += 1


@njit(cache=True)
def remove_reader(s, j, rows):  # type: ignore[no-untyped-def]
    """One piece less on ``j`` reads ``s``; a pair that counts nothing leaves the row."""
    offsets, used, server, count = rows
    place = place_of(s, j, rows)
    count[place] -= 1
    if used[s] > 0 and count[place] == 0:
        used[s] -= 1
        last = offsets[s] + used[s]
        server[place], count[place] = server[last], count[last]
