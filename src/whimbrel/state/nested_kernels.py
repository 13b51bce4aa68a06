"""The loops that place nested values word by word."""

from __future__ import annotations

import numpy as np
from numba import types

from whimbrel.state.compiled import I64, I64_IN, INT, U8, U8_IN, kernel
from whimbrel.state.hash_kernels import tail_at, word_at


@kernel(types.void, I64_IN, U8_IN, U8_IN, I64)
def place_bytes(offsets, data, valid, words):  # type: ignore[no-untyped-def]
    """Each byte string as its length plus one and its padded bytes; 0 for a null."""
    at = 0
    for i in range(offsets.size - 1):
        if not valid[i]:
            words[at] = 0
            at += 1
            continue
        start, stop = offsets[i], offsets[i + 1]
        words[at] = stop - start + 1
        at += 1
        while start + 8 <= stop:
            words[at] = np.int64(word_at(data, start))
            at += 1
            start += 8
        if start < stop:
            words[at] = np.int64(tail_at(data, start, stop))
            at += 1


@kernel(types.void, I64_IN, I64_IN, I64_IN, U8_IN, I64)
def place_words(at, sizes, source, valid, words):  # type: ignore[no-untyped-def]
    """Copies the next ``sizes[i]`` words of the source to ``at[i]``, where row i is not null."""
    start = 0
    for i in range(sizes.size):
        if valid[i]:
            for k in range(sizes[i]):
                words[at[i] + k] = source[start + k]
        start += sizes[i]


@kernel(types.void, U8_IN, I64_IN, I64_IN, U8)
def gather_bytes(source, starts, offsets, out):  # type: ignore[no-untyped-def]
    """The byte strings that begin at ``starts``, one after the other."""
    for i in range(starts.size):
        for k in range(offsets[i + 1] - offsets[i]):
            out[offsets[i] + k] = source[starts[i] + k]


@kernel(types.void, I64_IN, I64_IN, I64_IN, INT, I64, I64)
def element_starts(words, at, counts, each, starts, ends):  # type: ignore[no-untyped-def]
    """Where every element of every list begins, and where each list ends; ``each`` 0 reads the sizes from the list."""
    element = 0
    for i in range(at.size):
        here = at[i] if each else at[i] + counts[i]
        for k in range(counts[i]):
            starts[element] = here
            element += 1
            here += each if each else words[at[i] + k]
        ends[i] = here if counts[i] else at[i]
