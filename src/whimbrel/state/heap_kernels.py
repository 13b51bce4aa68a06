"""The loops of the heap: byte strings of any length, in blocks of 64-bit words.

A block is a head word and the bytes padded to whole words. The head holds the length (28 bits) and 36 bits of a hash of
the bytes; the reference in the row holds the offset (36 bits) and the other 28 bits, so a block that is damaged, or that
is another's, does not match its reference. Blocks come in size classes, four per doubling, each with a list of free
blocks: a freed block serves the next value of its class, so no garbage is ever collected and no epoch pays for it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.state.compiled import I64, I64_2D, I64_2D_IN, I64_IN, INT, U8, U8_IN, kernel
from whimbrel.state.hash_kernels import mix, tail_at, word_at
from whimbrel.state.index_kernels import BYTES, bin_of
from whimbrel.state.row_kernels import HEAP, HEAP_FREE, check_word

CLASSES = 160
LENGTH_BYTES_MAX = (1 << 28) - 1

_LENGTH = np.int64((1 << 28) - 1)
_OFFSET = np.int64((1 << 36) - 1)
_28, _36 = np.uint64(28), np.uint64(36)
_SEED = np.uint64(0x082EFA98EC4E6C89)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_S32 = np.uint64(32)


@njit
def class_of(words):  # type: ignore[no-untyped-def]
    """(class, words of its blocks) of a block that needs this many words."""
    if words <= 8:
        return words - 1, words
    power = np.int64(3)
    while (np.int64(2) << power) < words:
        power += 1
    step = np.int64(1) << (power - 2)
    quarter = (words + step - 1) // step
    return 4 * power + quarter - 5, quarter * step


@njit
def words_of(length):  # type: ignore[no-untyped-def]
    """How many words a value of this length needs, its head among them."""
    return 1 + (length + 7) // 8


@njit
def _content(heap, at, length):  # type: ignore[no-untyped-def]
    state = _SEED ^ np.uint64(length)
    for k in range(at + 1, at + words_of(length)):
        state = (state ^ np.uint64(heap[k])) * _STEP
        state ^= state >> _S32
    return mix(state)


@njit
def seal_block(heap, at, length):  # type: ignore[no-untyped-def]
    """Writes the head of a block whose bytes are in place, and returns the reference to it."""
    content = _content(heap, at, length)
    heap[at] = np.int64((content >> _28) << _28) | length
    return np.int64(content << _36) | at


@njit
def length_of(heap, reference, used):  # type: ignore[no-untyped-def]
    """The length of the value behind a reference, or -1 where there cannot be one."""
    at = reference & _OFFSET
    if not 0 < at < used:
        return np.int64(-1)
    length = heap[at] & _LENGTH
    return length if at + words_of(length) <= used else np.int64(-1)


@njit
def is_whole(heap, reference, length):  # type: ignore[no-untyped-def]
    """Whether the bytes behind the reference are those that it was made for."""
    at = reference & _OFFSET
    content = _content(heap, at, length)
    return heap[at] == np.int64((content >> _28) << _28) | length and np.int64(content << _36) | at == reference


@njit
def _link(following, at, group):  # type: ignore[no-untyped-def]
    seal = mix(np.uint64(following) ^ (np.uint64(at) << np.uint64(20)) ^ np.uint64(group))
    return np.int64((seal >> _36) << _36) | following


@njit
def free_block(heap, counters, lists, at, length):  # type: ignore[no-untyped-def]
    """Puts a block on the list of its class."""
    group, size = class_of(words_of(length))
    heap[at] = _link(lists[group], at, group)
    lists[group] = at
    counters[HEAP_FREE] += size


@njit
def new_block(heap, counters, lists, length):  # type: ignore[no-untyped-def]
    """The place of a block for this length: -1 where the free list is damaged. The caller has reserved room."""
    group, size = class_of(words_of(length))
    at = lists[group]
    if at > 0:
        if at >= counters[HEAP]:
            return np.int64(-1)
        following = heap[at] & _OFFSET
        if heap[at] != _link(following, at, group):
            return np.int64(-1)
        lists[group] = following
        counters[HEAP_FREE] -= size
        return at
    at = counters[HEAP]
    if at + size > heap.size:
        return np.int64(-1)
    counters[HEAP] = at + size
    return at


@njit
def drop_value(rows, row, word, null_word, null_bit, heap, counters, lists):  # type: ignore[no-untyped-def]
    """Frees what the row refers to and makes the column null; returns the bytes given back, or -1 for damage."""
    if not (rows[row, null_word] >> null_bit) & 1:
        return np.int64(0)
    reference = rows[row, word]
    length = length_of(heap, reference, counters[HEAP])
    if length < 0 or not is_whole(heap, reference, length):
        return np.int64(-1)
    free_block(heap, counters, lists, reference & _OFFSET, length)
    rows[row, word] = 0
    rows[row, null_word] &= ~(np.int64(1) << null_bit)
    return words_of(length) * 8


@kernel(INT, I64_IN)
def room_for(offsets):  # type: ignore[no-untyped-def]
    """The words that new blocks for these values take at most; -1 - i where value i is too long."""
    total = 0
    for i in range(offsets.size - 1):
        length = offsets[i + 1] - offsets[i]
        if length > LENGTH_BYTES_MAX:
            return -1 - i
        total += class_of(words_of(length))[1]
    return total


@kernel(INT, I64_2D, I64_IN, I64_IN, I64_IN, U8_IN, U8_IN, I64, I64, I64, I64_2D, INT)
def store_bytes(rows, numbers, place, offsets, data, valid, heap, counters, lists, regions, bits):  # type: ignore[no-untyped-def]
    """Gives each row its value of this column. Returns a row whose old value is damaged, or -1."""
    word, null_word, null_bit = place[0], place[1], place[2]
    for i in range(numbers.size):
        row = numbers[i]
        region = bin_of(np.uint64(rows[row, 0]), bits)
        given = drop_value(rows, row, word, null_word, null_bit, heap, counters, lists)
        if given < 0:
            return row
        regions[region, BYTES] -= given
        if not valid[i]:
            continue
        start, stop = offsets[i], offsets[i + 1]
        length = stop - start
        at = new_block(heap, counters, lists, length)
        if at < 0:
            return row
        here = at + 1
        while start + 8 <= stop:
            heap[here] = np.int64(word_at(data, start))
            here += 1
            start += 8
        if start < stop:
            heap[here] = np.int64(tail_at(data, start, stop))
        rows[row, word] = seal_block(heap, at, length)
        rows[row, null_word] |= np.int64(1) << null_bit
        regions[region, BYTES] += words_of(length) * 8
    return -1


@kernel(INT, I64_2D, I64_IN, I64_2D_IN, I64, I64, I64, I64_2D, INT)
def drop_all(rows, numbers, places, heap, counters, lists, regions, bits):  # type: ignore[no-untyped-def]
    """Frees every value of these rows and seals the rows again. Returns a row whose value is damaged, or -1."""
    for i in range(numbers.size):
        row = numbers[i]
        region = bin_of(np.uint64(rows[row, 0]), bits)
        for p in range(places.shape[0]):
            given = drop_value(rows, row, places[p, 0], places[p, 1], places[p, 2], heap, counters, lists)
            if given < 0:
                return row
            regions[region, BYTES] -= given
        rows[row, 2] = check_word(rows, row)
    return -1


@kernel(INT, I64_2D_IN, I64_IN, I64_IN, I64_IN, INT, I64)
def measure_bytes(rows, numbers, place, heap, used, offsets):  # type: ignore[no-untyped-def]
    """The offsets of the column's values laid end to end. Returns a row whose reference is damaged, or -1."""
    offsets[0] = 0
    for i in range(numbers.size):
        length = np.int64(0)
        if (rows[numbers[i], place[1]] >> place[2]) & 1:
            length = length_of(heap, rows[numbers[i], place[0]], used)
            if length < 0:
                return numbers[i]
        offsets[i + 1] = offsets[i] + length
    return -1


@kernel(INT, I64_2D_IN, I64_IN, I64_IN, I64_IN, U8_IN, I64_IN, U8)
def load_bytes(rows, numbers, place, heap, heap_bytes, offsets, out):  # type: ignore[no-untyped-def]
    """The values themselves, each checked. Returns a row whose value is damaged, or -1."""
    for i in range(numbers.size):
        length = offsets[i + 1] - offsets[i]
        if (rows[numbers[i], place[1]] >> place[2]) & 1:
            reference = rows[numbers[i], place[0]]
            if not is_whole(heap, reference, length):
                return numbers[i]
            start = ((reference & _OFFSET) + 1) * 8
            for k in range(length):
                out[offsets[i] + k] = heap_bytes[start + k]
    return -1
