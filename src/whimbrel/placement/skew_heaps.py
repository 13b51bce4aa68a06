"""Skew heaps in one shared pool, for compiled kernels: many heaps, each as large as it needs.

A heap is the number of its root node, -1 when empty. Node ``i`` has the key (``value[i]``, ``rank[i]``), the content
``content[i]`` and the children ``left[i]`` and ``right[i]``. Merging and taking the least out cost O(log n) amortised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.placement.instance import Floats, Integers


class Pool(NamedTuple):
    """Nodes by number; which ones are in use is the caller's book-keeping."""

    value: Floats
    rank: Integers
    content: Integers
    left: NDArray[np.int32]
    right: NDArray[np.int32]


@njit(cache=True)
def new_pool(size: int) -> Pool:
    """Room for ``size`` nodes."""
    return Pool(
        np.zeros(size),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.full(size, -1, dtype=np.int32),
        np.full(size, -1, dtype=np.int32),
    )


@njit(cache=True)
def grown(pool: Pool) -> Pool:
    """The same nodes with twice the room."""
    size = len(pool.value)
    larger = new_pool(2 * size)
    larger.value[:size], larger.rank[:size], larger.content[:size] = pool.value, pool.rank, pool.content
    larger.left[:size], larger.right[:size] = pool.left, pool.right
    return larger


@njit(cache=True)
def single(node: int, value: float, rank: int, content: int, pool: Pool) -> int:
    """Makes ``node`` a heap of its own, and returns it."""
    pool.value[node], pool.rank[node], pool.content[node] = value, rank, content
    pool.left[node], pool.right[node] = -1, -1
    return node


@njit(cache=True)
def merged(a: int, b: int, pool: Pool) -> int:
    """The root of the heap that holds what heaps ``a`` and ``b`` held. Iterative: heaps can be deep."""
    root, parent = -1, -1
    while a >= 0 and b >= 0:
        if pool.value[b] < pool.value[a] or (pool.value[b] == pool.value[a] and pool.rank[b] < pool.rank[a]):
            a, b = b, a
        if parent < 0:
            root = a
        else:
            pool.left[parent] = a
        parent = a
        rest = pool.right[a]
        pool.right[a] = pool.left[a]
        a = rest
    rest = a if a >= 0 else b
    if parent < 0:
        return rest
    pool.left[parent] = rest
    return root


@njit(cache=True)
def without_first(root: int, pool: Pool) -> int:
    """The root of the heap after its least node was taken out; that node is single again."""
    rest = merged(pool.left[root], pool.right[root], pool)
    pool.left[root], pool.right[root] = -1, -1
    return rest
