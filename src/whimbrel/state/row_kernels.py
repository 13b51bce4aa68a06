"""The loops over rows: check words, the list of free rows, marks of change, and the least value per chunk of rows.

A check word is the sum of the row's other words, each times its own odd constant, modulo 2^64, plus a constant that tells
living rows from free ones. Changed bytes within one word always change the sum; other damage passes with probability
2^-64. A loop that finds damage stops and returns the place; -1 says that all is well.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from whimbrel.state.compiled import I64, I64_2D, I64_2D_IN, I64_IN, INT, U8, kernel

# Places in a table's counters.
ROWS, FREE_ROW, LIVE, HEAP, TAIL, STATUS, HEAP_FREE = 0, 1, 2, 3, 4, 5, 6
COUNTERS = 8
# Why an insertion stopped.
GOING, WANTS_ROWS, WANTS_INDEX, DAMAGED = 0, 1, 2, 3

ROWS_PER_CHUNK = 128
NO_VALUE = np.int64(np.iinfo(np.int64).max)

_ODD = np.int64(0x9E3779B97F4A7C15 - (1 << 64))
_LIVING = np.int64(0x243F6A8885A308D3)
_FREED = np.int64(0x13198A2E03707344)
_LEAST = np.int64(0x452821E638D01377)
LIVE_BIT = np.int64(np.iinfo(np.int64).min)


@njit
def check_word(rows, row):  # type: ignore[no-untyped-def]
    """The check word that the row ought to have."""
    total = _LIVING if rows[row, 3] < 0 else _FREED
    for k in range(rows.shape[1]):
        if k != 2:
            total += rows[row, k] * (_ODD * (2 * k + 1))
    return total


@njit
def is_sound(rows, row, used):  # type: ignore[no-untyped-def]
    """Whether this is a living row whose check word is right."""
    return 0 <= row < used and rows[row, 3] < 0 and rows[row, 2] == check_word(rows, row)


@njit
def take_row(rows, counters):  # type: ignore[no-untyped-def]
    """A row for a new key: a free one, or the next unused one; -1 none is left, -2 the free list is damaged."""
    head = counters[FREE_ROW]
    if head == 0:
        if counters[ROWS] >= rows.shape[0]:
            return -1
        counters[ROWS] += 1
        return counters[ROWS] - 1
    row = head - 1
    if not 0 <= row < counters[ROWS] or rows[row, 3] < 0 or rows[row, 2] != check_word(rows, row):
        return -2
    counters[FREE_ROW] = rows[row, 0]
    return row


@njit
def give_row(rows, counters, row):  # type: ignore[no-untyped-def]
    """Puts the row at the head of the free list."""
    for k in range(rows.shape[1]):
        rows[row, k] = 0
    rows[row, 0] = counters[FREE_ROW]
    rows[row, 2] = check_word(rows, row)
    counters[FREE_ROW] = row + 1


@kernel(INT, I64_2D_IN, I64_IN, INT)
def verify_rows(rows, numbers, used):  # type: ignore[no-untyped-def]
    """The first of these rows that is not sound, or -1."""
    for i in range(numbers.size):
        if not is_sound(rows, numbers[i], used):
            return numbers[i]
    return -1


@kernel(INT, I64_2D, I64_IN, I64_2D_IN, INT, U8, I64)
def seal_rows(rows, numbers, columns, used, marks, changed):  # type: ignore[no-untyped-def]
    """Gives changed rows their check words, zeroes what is null, and lists the rows that were not yet marked."""
    found = 0
    for i in range(numbers.size):
        row = numbers[i]
        if not 0 <= row < used or rows[row, 3] >= 0:
            return -1 - i
        for c in range(columns.shape[0]):
            if not (rows[row, columns[c, 2]] >> columns[c, 3]) & 1:
                for k in range(columns[c, 1]):
                    rows[row, columns[c, 0] + k] = 0
        rows[row, 2] = check_word(rows, row)
        if marks[row] == 0:
            marks[row] = 1
            changed[found] = row
            found += 1
    return found


@kernel(INT, I64, U8)
def take_marked(numbers, marks):  # type: ignore[no-untyped-def]
    """Moves the marked rows to the front, each once, and takes their marks away; returns how many."""
    found = 0
    for i in range(numbers.size):
        if marks[numbers[i]]:
            marks[numbers[i]] = 0
            numbers[found] = numbers[i]
            found += 1
    return found


@kernel(types.void, I64_2D, I64_IN, INT, INT, INT, I64_IN, U8)
def put_words(rows, numbers, word, null_word, null_bit, values, valid):  # type: ignore[no-untyped-def]
    """Writes one word and its null bit into each row; of a row that is named twice the last value stays."""
    bit = np.int64(1) << null_bit
    for i in range(numbers.size):
        row = numbers[i]
        rows[row, word] = values[i]
        if valid[i]:
            rows[row, null_word] |= bit
        else:
            rows[row, null_word] &= ~bit


@njit
def _least_check(value, chunk):  # type: ignore[no-untyped-def]
    return (value ^ (chunk * _ODD)) * _ODD + _LEAST


@kernel(types.void, I64, INT, INT)
def clear_least(least, start, stop):  # type: ignore[no-untyped-def]
    """Says of these chunks that they hold no value."""
    for chunk in range(start, stop):
        least[2 * chunk] = NO_VALUE
        least[2 * chunk + 1] = _least_check(NO_VALUE, chunk)


@kernel(INT, I64_2D_IN, I64_IN, INT, INT, INT, I64)
def lower_least(rows, numbers, word, null_word, null_bit, least):  # type: ignore[no-untyped-def]
    """Takes the values of these rows into their chunks' least values."""
    for i in range(numbers.size):
        row = numbers[i]
        if (rows[row, null_word] >> null_bit) & 1:
            chunk = row // ROWS_PER_CHUNK
            known = least[2 * chunk]
            if least[2 * chunk + 1] != _least_check(known, chunk):
                return chunk
            if rows[row, word] < known:
                least[2 * chunk] = rows[row, word]
                least[2 * chunk + 1] = _least_check(rows[row, word], chunk)
    return -1


@kernel(INT, I64_IN, INT, INT, I64)
def due_chunks(least, chunks, bound, out):  # type: ignore[no-untyped-def]
    """The chunks whose least value is below the bound: how many; -1 where a least value is damaged."""
    found = 0
    for chunk in range(chunks):
        if least[2 * chunk + 1] != _least_check(least[2 * chunk], chunk):
            return -1
        if least[2 * chunk] < bound:
            out[found] = chunk
            found += 1
    return found


@kernel(INT, I64_2D_IN, I64_IN, INT, INT, INT, INT, INT, I64, I64)
def rows_due(rows, chunks, used, word, null_word, null_bit, bound, least, out):  # type: ignore[no-untyped-def]
    """The rows below the bound in these chunks, whose least values become exact; -1 - row for a damaged row."""
    found = 0
    for i in range(chunks.size):
        lowest = NO_VALUE
        start = chunks[i] * ROWS_PER_CHUNK
        for row in range(start, min(start + ROWS_PER_CHUNK, used)):
            if rows[row, 2] != check_word(rows, row):
                return -1 - row
            if rows[row, 3] < 0 and (rows[row, null_word] >> null_bit) & 1:
                lowest = min(lowest, rows[row, word])
                if rows[row, word] < bound:
                    out[found] = row
                    found += 1
        least[2 * chunks[i]] = lowest
        least[2 * chunks[i] + 1] = _least_check(lowest, chunks[i])
    return found
