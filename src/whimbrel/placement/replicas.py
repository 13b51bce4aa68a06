"""How many readers on each server each source has, in rows no longer than needed, for compiled kernels.

A source with an eighth as many readers as there are servers, or more, has a row with one counter per server. Any other
has a row with one (server, readers) pair per server that it reaches, found by looking along the row, which is short: the
number of pairs is at most the number of its readers. All rows together have at most eight entries per reader.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.placement.instance import Integers

_SERVERS_PER_READER = 8
"""Looking along a row of up to this share of the servers costs about what one look into a wide table does."""

_Numbers = NDArray[np.int32]


class Replicas(NamedTuple):
    """Row ``s`` starts at ``offsets[s]``; ``used[s]`` is its number of pairs, -1 for a row of counters."""

    offsets: Integers
    used: _Numbers
    server: _Numbers
    readers: _Numbers


def no_replicas(readers: Integers, servers: int) -> Replicas:
    """Empty rows for sources that never have more than these numbers of readers at a time."""
    counted = readers * _SERVERS_PER_READER >= servers
    offsets = np.concatenate(([0], np.cumsum(np.where(counted, servers, readers)))).astype(np.int64)
    used = np.where(counted, -1, 0).astype(np.int32)
    return Replicas(offsets, used, np.zeros(offsets[-1], dtype=np.int32), np.zeros(offsets[-1], dtype=np.int32))


@njit(cache=True)
def _place_of(s: int, j: int, rows: Replicas) -> int:
    """Where the counter of source ``s`` on server ``j`` is; -1 where the row has none."""
    if rows.used[s] < 0:
        return rows.offsets[s] + j
    for place in range(rows.offsets[s], rows.offsets[s] + rows.used[s]):
        if rows.server[place] == j:
            return place
    return -1


@njit(cache=True)
def readers_on(s: int, j: int, rows: Replicas) -> int:
    """How many readers of source ``s`` server ``j`` hosts."""
    place = _place_of(s, j, rows)
    return rows.readers[place] if place >= 0 else 0


@njit(cache=True)
def servers_reached(s: int, rows: Replicas) -> int:
    """How many servers host a reader of source ``s``."""
    if rows.used[s] >= 0:
        return rows.used[s]
    reached = 0
    for place in range(rows.offsets[s], rows.offsets[s + 1]):
        reached += rows.readers[place] > 0
    return reached


@njit(cache=True)
def add_reader(s: int, j: int, rows: Replicas) -> int:
    """One more reader of ``s`` on ``j``; returns how many there are now."""
    place = _place_of(s, j, rows)
    if place < 0:
        place = rows.offsets[s] + rows.used[s]
        rows.used[s] += 1
        rows.server[place], rows.readers[place] = j, 0
    rows.readers[place] += 1
    return rows.readers[place]


@njit(cache=True)
def remove_reader(s: int, j: int, rows: Replicas) -> int:
    """One reader of ``s`` on ``j`` less; returns how many are left. A pair that counts nothing leaves the row."""
    place = _place_of(s, j, rows)
    rows.readers[place] -= 1
    left = rows.readers[place]
    if rows.used[s] > 0 and left == 0:
        rows.used[s] -= 1
        last = rows.offsets[s] + rows.used[s]
        rows.server[place], rows.readers[place] = rows.server[last], rows.readers[last]
    return left
