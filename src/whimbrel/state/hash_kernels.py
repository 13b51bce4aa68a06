"""The loops of the key hash. The constants are part of the format: to change one is to move every key."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from whimbrel.state.compiled import I64_IN, U8_IN, U64, U64_IN, kernel

NULL_FIRST = np.uint64(0x6A09E667F3BCC908)
NULL_SECOND = np.uint64(0xBB67AE8584CAA73B)
STRUCT_SEED = 0x3C6EF372FE94F82B
LIST_SEED = np.uint64(0xA54FF53A5F1D36F1)
MAP_SEED = np.uint64(0x510E527FADE682D1)
BYTES_FIRST = np.uint64(0x9B05688C2B3E6C1F)
BYTES_SECOND = np.uint64(0x1F83D9ABFB41BD6B)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_STIR_A = np.uint64(0xFF51AFD7ED558CCD)
_STIR_B = np.uint64(0xC4CEB9FE1A85EC53)
_JOIN_A = np.uint64(0xD6E8FEB86659FD93)
_JOIN_B = np.uint64(0xA0761D6478BD642F)
_S5, _S8, _S23, _S27, _S29 = np.uint64(5), np.uint64(8), np.uint64(23), np.uint64(27), np.uint64(29)
_S30, _S31, _S32, _S33, _S35, _S41 = (np.uint64(n) for n in (30, 31, 32, 33, 35, 41))


@njit
def mix(word):  # type: ignore[no-untyped-def]
    """A bijection of 64-bit words in which every input bit reaches every output bit."""
    word = word + _GOLDEN
    word = (word ^ (word >> _S30)) * _MIX_A
    word = (word ^ (word >> _S27)) * _MIX_B
    return word ^ (word >> _S31)


@njit
def stir(word):  # type: ignore[no-untyped-def]
    """Another bijection, unrelated to ``mix``."""
    word = word ^ _JOIN_B
    word = (word ^ (word >> _S33)) * _STIR_A
    word = (word ^ (word >> _S33)) * _STIR_B
    return word ^ (word >> _S33)


@njit
def _join_first(left, right):  # type: ignore[no-untyped-def]
    return mix(((left << _S23) | (left >> _S41)) * _JOIN_A + right)


@njit
def _join_second(left, right):  # type: ignore[no-untyped-def]
    return stir(((left << _S29) | (left >> _S35)) * _JOIN_B + right)


@kernel(types.void, U64_IN, U64, U64)
def mix_words(words, first, second):  # type: ignore[no-untyped-def]
    """The hashes of single words."""
    for i in range(words.size):
        first[i] = mix(words[i])
        second[i] = stir(words[i])


@kernel(types.void, U64_IN, U64_IN, U64_IN, U64_IN, U64, U64)
def join_pairs(left_first, left_second, right_first, right_second, first, second):  # type: ignore[no-untyped-def]
    """The hashes of rows whose key is the left part followed by the right part."""
    for i in range(first.size):
        first[i] = _join_first(left_first[i], right_first[i])
        second[i] = _join_second(left_second[i], right_second[i])


@njit
def word_at(data, start):  # type: ignore[no-untyped-def]
    """Eight bytes as a little-endian word; the compiler makes this one load."""
    at = np.uint64(start)
    word = np.uint64(data[at])
    for k in range(1, 8):
        word |= np.uint64(data[at + np.uint64(k)]) << np.uint64(8 * k)
    return word


@njit
def tail_at(data, start, stop):  # type: ignore[no-untyped-def]
    """Fewer than eight bytes as a word with zeros above."""
    word = np.uint64(0)
    shift = np.uint64(0)
    for at in range(start, stop):
        word |= np.uint64(data[at]) << shift
        shift += _S8
    return word


@kernel(types.void, I64_IN, U8_IN, U64, U64)
def fold_bytes(offsets, data, first, second):  # type: ignore[no-untyped-def]
    """The hashes of byte strings: eight bytes at a time, the rest padded with zeros (the length is in the seed)."""
    for i in range(first.size):
        start, stop = offsets[i], offsets[i + 1]
        length = np.uint64(stop - start)
        one = (length * _JOIN_A) ^ BYTES_FIRST
        two = (length * _JOIN_B) ^ BYTES_SECOND
        while start + 8 <= stop:
            word = word_at(data, start)
            one = (one ^ word) * _MIX_A
            one ^= one >> _S32
            two = (two + word) * _STIR_A
            two ^= two >> _S29
            start += 8
        word = tail_at(data, start, stop)
        first[i] = mix((one ^ word) * _MIX_B)
        second[i] = stir((two + word) * _STIR_B)


@kernel(types.void, I64_IN, U64_IN, U64_IN, U64, U64)
def fold_lists(lengths, child_first, child_second, first, second):  # type: ignore[no-untyped-def]
    """The hashes of lists from the hashes of their elements, in order."""
    at = 0
    for i in range(lengths.size):
        one = mix(np.uint64(lengths[i]) + LIST_SEED)
        two = stir(np.uint64(lengths[i]) + LIST_SEED)
        for child in range(at, at + lengths[i]):
            one = _join_first(one, child_first[child])
            two = _join_second(two, child_second[child])
        first[i], second[i] = one, two
        at += lengths[i]


@kernel(types.void, I64_IN, U64_IN, U64_IN, U64, U64)
def sum_entries(lengths, child_first, child_second, first, second):  # type: ignore[no-untyped-def]
    """The hashes of maps from the hashes of their entries, in any order."""
    at = 0
    for i in range(lengths.size):
        one = two = np.uint64(0)
        for child in range(at, at + lengths[i]):
            one += mix(child_first[child])
            two += stir(child_second[child])
        first[i] = _join_first(mix(np.uint64(lengths[i]) + MAP_SEED), one)
        second[i] = _join_second(stir(np.uint64(lengths[i]) + MAP_SEED), two)
        at += lengths[i]
