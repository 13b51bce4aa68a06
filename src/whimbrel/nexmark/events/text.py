"""Text columns: names, addresses and the padding that gives each kind of event its size."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel.nexmark.events.chance import Integers, below, draws

_POOL = 4096
"""Different paddings of bids: many enough to look random, few enough to copy instead of making."""


def letters(
    numbers: Integers, seed: int, field: int, lengths: Integers, alphabet: str = "abcdefghijklmnopqrstuvwxyz"
) -> pa.Array:
    """One string of random letters per event, of the length given for it."""
    width = max(8, -(-int(lengths.max(initial=0)) // 8) * 8)
    columns = [draws(numbers, seed, field * 4096 + word) for word in range(width // 8)]
    codes = np.column_stack(columns).view(np.uint8).reshape(len(numbers), width)
    table = np.frombuffer((alphabet * 256)[:256].encode(), dtype=np.uint8)
    text = table[codes[np.arange(width) < lengths[:, None]]]
    offsets = np.zeros(len(numbers) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(text))


def chosen(words: tuple[str, ...], numbers: Integers, seed: int, field: int) -> pa.Array:
    """One of the words per event."""
    return pa.array(words).take(pa.array(below(len(words), numbers, seed, field)))


def padding_lengths(size: int, used: Integers | int, numbers: Integers, seed: int, field: int) -> Integers:
    """How much padding brings each event to its size, give or take a fifth."""
    spread = round(size * 0.2)
    lengths = size - spread + below(2 * spread, numbers, seed, field) - used
    return np.maximum(lengths, 0)


def pooled_padding(size: int, used: int, numbers: Integers, seed: int, field: int) -> pa.Array:
    """Padding for the many: strings from a pool, so that a million a second cost only their copying."""
    return _pool(size, used, seed).take(pa.array(below(_POOL, numbers, seed, field)))


@cache
def _pool(size: int, used: int, seed: int) -> pa.Array:
    numbers = np.arange(_POOL, dtype=np.int64)
    return letters(numbers, seed, 90, padding_lengths(size, used, numbers, seed, 91))


def lengths_of(column: pa.Array) -> NDArray[np.int64]:
    """Bytes of every string."""
    return np.diff(np.frombuffer(column.buffers()[1], dtype=np.int32)[: len(column) + 1]).astype(np.int64)
