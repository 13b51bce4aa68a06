"""The ground under the single-step programs: positions, reach and the old intervals around each position.

Positions 0..m lie between the bins; an interval is a pair of positions. ``reach[x]`` is the smallest position from
which an interval may run up to x without breaking the limit: it never decreases, so everything that slides stays
linear. The old intervals come as ``boundaries``: 0 = b[0] < b[1] < ... < b[n] = m, without the empty ones.
A slot that must be given up keeps its interval here with its state set to zero: nothing is gained by staying.

``NEVER`` stands for "no such plan". It is far below every reachable value and two of them still fit an int64.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Terrain = tuple[Integers, Integers, Integers, Integers]

NEVER = -(1 << 60)


@njit(cache=True)
def reach_of(work: Integers, limit: int) -> Integers:
    """``reach[x]`` for every position; ``reach[x] == x`` > 0 says that bin x - 1 alone breaks the limit."""
    m = len(work)
    reach = np.zeros(m + 1, np.int64)
    lower = 0
    inside = 0
    for x in range(1, m + 1):
        inside += work[x - 1]
        while inside > limit:
            inside -= work[lower]
            lower += 1
        reach[x] = lower
    return reach


@njit(cache=True)
def terrain_of(state: Integers, boundaries: Integers) -> Terrain:
    """(prefix, start, end, size): state before a position; both ends of the old interval of a bin; its state.

    ``start[x]`` belongs to the bin that ends at x, ``end[x]`` to the bin that begins there. ``size[x]`` is the state
    of the old interval that begins exactly at x, else ``NEVER``.
    """
    m = len(state)
    prefix = np.zeros(m + 1, np.int64)
    for x in range(m):
        prefix[x + 1] = prefix[x] + state[x]
    start = np.zeros(m + 1, np.int64)
    end = np.full(m + 1, m, np.int64)
    size = np.full(m + 1, NEVER, np.int64)
    for z in range(len(boundaries) - 1):
        lower, upper = boundaries[z], boundaries[z + 1]
        size[lower] = prefix[upper] - prefix[lower]
        start[lower + 1 : upper + 1] = lower
        end[lower:upper] = upper
    return prefix, start, end, size


@njit(cache=True)
def band_of(reach: Integers, slots: int) -> tuple[Integers, Integers]:
    """(lowest, highest): where the k-th cut may lie so that k slots cover the front and the others the rest.

    ``highest[slots] < m`` says that no plan keeps the limit.
    """
    m = len(reach) - 1
    lowest = np.empty(slots + 1, np.int64)
    highest = np.empty(slots + 1, np.int64)
    lowest[slots] = m
    for k in range(slots, 0, -1):
        lowest[k - 1] = reach[lowest[k]]
    highest[0] = 0
    x = 0
    for k in range(1, slots + 1):
        before = x
        while x < m and reach[x + 1] <= before:
            x += 1
        highest[k] = x
    return lowest, highest
