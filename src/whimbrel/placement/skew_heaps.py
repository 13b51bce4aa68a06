"""Skew heaps in one shared pool, for compiled kernels: many heaps, each as large as it needs.

A heap is the number of its root node, -1 when empty. Node ``i`` has the key (``value[i]``, ``rank[i]``), the content
``content[i]`` and the children ``left[i]`` and ``right[i]``. Merging and taking the least out cost O(log n) amortised.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def new_pool(size):  # type: ignore[no-untyped-def]
    """Arrays (value, rank, content, left, right) for ``size`` nodes."""
    return (
        np.zeros(size),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.full(size, -1, dtype=np.int32),
        np.full(size, -1, dtype=np.int32),
    )


@njit(cache=True)
def grown(pool):  # type: ignore[no-untyped-def]
    """The same pool with twice the room."""
    size = len(pool[0])
    larger = new_pool(2 * size)
    larger[0][:size], larger[1][:size], larger[2][:size] = pool[0], pool[1], pool[2]
    larger[3][:size], larger[4][:size] = pool[3], pool[4]
    return larger


@njit(cache=True)
def merged(a, b, pool):  # type: ignore[no-untyped-def]
    """The root of the heap that holds what heaps ``a`` and ``b`` held. Iterative: heaps can be deep."""
    value, rank, _, left, right = pool
    root, parent = -1, -1
    while a >= 0 and b >= 0:
        if value[b] < value[a] or (value[b] == value[a] and rank[b] < rank[a]):
            a, b = b, a
        if parent < 0:
            root = a
        else:
            left[parent] = a
        parent = a
        rest = right[a]
        right[a] = left[a]
        a = rest
    rest = a if a >= 0 else b
    if parent < 0:
        return rest
    left[parent] = rest
    return root


@njit(cache=True)
def without_first(root, pool):  # type: ignore[no-untyped-def]
    """The root of the heap after its least node was taken out; that node is single again."""
    left, right = pool[3], pool[4]
    rest = merged(left[root], right[root], pool)
    left[root], right[root] = -1, -1
    return rest
