"""The integer that stands for a slot in the shuffle.

Spark places a group by Murmur3(key) modulo the number of partitions. A slot's token is the smallest non-negative
integer that this sends to the slot's own partition, so slots and state partitions are the same thing.
"""

from __future__ import annotations

from functools import lru_cache

_MASK = 0xFFFFFFFF
_SPARK_SEED = 42


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK


def murmur3_int(value: int) -> int:
    """Spark's Murmur3 hash of a 32-bit integer, signed as Spark returns it.

    >>> murmur3_int(0)
    933211791
    """
    k = (_rotate(((value & _MASK) * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK
    h = ((_rotate(_SPARK_SEED ^ k, 13) * 5) + 0xE6546B64) & _MASK
    h ^= 4
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _MASK
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h


@lru_cache(maxsize=64)
def slot_tokens(max_slots: int) -> tuple[int, ...]:
    """``tokens[slot]``: distinct integers, each hashed by Spark to its own slot of ``max_slots``."""
    tokens: dict[int, int] = {}
    candidate = 0
    while len(tokens) < max_slots:
        tokens.setdefault(murmur3_int(candidate) % max_slots, candidate)
        candidate += 1
    return tuple(tokens[slot] for slot in range(max_slots))
