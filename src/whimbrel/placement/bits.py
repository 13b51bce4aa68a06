"""Sets of servers as words of bits, for compiled kernels: server j is bit j % 64 of word j // 64."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros
from numpy.typing import NDArray

ONE = np.uint64(1)
Words = NDArray[np.uint64]


def words_for(servers: int) -> int:
    """How many words a set of servers needs."""
    return (servers + 63) >> 6


@njit(cache=True)
def has(words: Words, j: int) -> bool:
    """Whether the set holds server ``j``."""
    return (words[j >> 6] >> np.uint64(j & 63)) & ONE != 0


@njit(cache=True)
def put(words: Words, j: int) -> None:
    """Adds server ``j``."""
    words[j >> 6] |= ONE << np.uint64(j & 63)


@njit(cache=True)
def drop(words: Words, j: int) -> None:
    """Takes server ``j`` out."""
    words[j >> 6] &= ~(ONE << np.uint64(j & 63))


@njit(cache=True)
def lowest(word: np.uint64) -> int:
    """The number of the lowest bit of a word that is not zero."""
    return np.int64(trailing_zeros(word))
