"""The loops that turn rows of a table into a block of words that means the same anywhere, and back.

A persisted row is the row without its check word, every reference replaced by the length of its value; the values follow
in the order of rows and columns, each padded to whole words.
"""

from __future__ import annotations

import numpy as np
from numba import types

from whimbrel.state.compiled import I64, I64_2D, I64_2D_IN, I64_IN, INT, U8, kernel
from whimbrel.state.heap_kernels import drop_value, is_whole, length_of, new_block, seal_block, words_of
from whimbrel.state.index_kernels import BYTES, bin_of
from whimbrel.state.row_kernels import check_word, is_sound

_OFFSET = np.int64((1 << 36) - 1)


@kernel(INT, I64_2D_IN, I64_IN, INT, I64_2D_IN, I64_IN, INT, I64)
def measure_rows(rows, numbers, used, places, heap, heap_used, sizes):  # type: ignore[no-untyped-def]
    """How many words of values each row has. Returns a damaged row, or -1."""
    for i in range(numbers.size):
        row = numbers[i]
        if not is_sound(rows, row, used):
            return row
        total = 0
        for p in range(places.shape[0]):
            if (rows[row, places[p, 1]] >> places[p, 2]) & 1:
                length = length_of(heap, rows[row, places[p, 0]], heap_used)
                if length < 0:
                    return row
                total += words_of(length) - 1
        sizes[i] = total
    return -1


@kernel(INT, I64_2D_IN, I64_IN, INT, I64_2D_IN, I64_IN, INT, I64_2D, I64)
def pack_rows(rows, numbers, used, places, heap, heap_used, block, values):  # type: ignore[no-untyped-def]
    """Writes the rows and their values, each checked. Returns a damaged row, or -1."""
    at = 0
    for i in range(numbers.size):
        row = numbers[i]
        if not is_sound(rows, row, used):
            return row
        block[i, 0], block[i, 1] = rows[row, 0], rows[row, 1]
        for k in range(3, rows.shape[1]):
            block[i, k - 1] = rows[row, k]
        for p in range(places.shape[0]):
            if (rows[row, places[p, 1]] >> places[p, 2]) & 1:
                reference = rows[row, places[p, 0]]
                length = length_of(heap, reference, heap_used)
                if length < 0 or not is_whole(heap, reference, length):
                    return row
                block[i, places[p, 0] - 1] = length
                start = (reference & _OFFSET) + 1
                for k in range(words_of(length) - 1):
                    values[at + k] = heap[start + k]
                at += words_of(length) - 1
    return -1


@kernel(types.void, I64_2D_IN, I64_2D_IN, I64)
def block_sizes(block, places, sizes):  # type: ignore[no-untyped-def]
    """How many words of values each persisted row has."""
    for i in range(block.shape[0]):
        total = 0
        for p in range(places.shape[0]):
            if (block[i, places[p, 1] - 1] >> places[p, 2]) & 1:
                total += words_of(block[i, places[p, 0] - 1]) - 1
        sizes[i] = total


@kernel(INT, I64_2D_IN, I64_IN, I64_IN, I64_IN, I64_2D_IN, I64_2D, I64_IN, I64, I64, I64, I64_2D, INT, U8)
def fill_rows(  # type: ignore[no-untyped-def]
    block, chosen, values, starts, places, rows, numbers, heap, counters, lists, regions, bits, marks
):
    """Makes row ``numbers[i]`` the persisted row ``chosen[i]``. Returns a row whose old value is damaged, or -1."""
    for i in range(chosen.size):
        source, row = chosen[i], numbers[i]
        region = bin_of(np.uint64(rows[row, 0]), bits)
        for p in range(places.shape[0]):
            given = drop_value(rows, row, places[p, 0], places[p, 1], places[p, 2], heap, counters, lists)
            if given < 0:
                return row
            regions[region, BYTES] -= given
        for k in range(3, rows.shape[1]):
            rows[row, k] = block[source, k - 1]
        at = starts[source]
        for p in range(places.shape[0]):
            if (rows[row, places[p, 1]] >> places[p, 2]) & 1:
                length = rows[row, places[p, 0]]
                place = new_block(heap, counters, lists, length)
                if place < 0:
                    return row
                for k in range(words_of(length) - 1):
                    heap[place + 1 + k] = values[at + k]
                at += words_of(length) - 1
                rows[row, places[p, 0]] = seal_block(heap, place, length)
                regions[region, BYTES] += words_of(length) * 8
        rows[row, 2] = check_word(rows, row)
        marks[row] = 0
    return -1
