"""Chance without a state: every draw is a hash of (seed, event number, field).

So any slice of the stream can be made alone, in any order, by any number of workers, and is always the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1


def draws(numbers: Integers, seed: int, field: int) -> NDArray[np.uint64]:
    """64 uniform bits per event number, independent between fields and seeds (SplitMix64's finaliser)."""
    start = _finalise_scalar((seed * 0xD1342543DE82EF95 + field * 0x632BE59BD9B4E019 + 1) & _MASK)
    bits = numbers.astype(np.uint64)
    bits *= _GOLDEN
    bits += np.uint64(start)
    return _finalise(bits)


def uniform(numbers: Integers, seed: int, field: int) -> NDArray[np.float64]:
    """One real in [0, 1) per event number."""
    return (draws(numbers, seed, field) >> np.uint64(11)) * 2.0**-53


def below(bound: Integers | int, numbers: Integers, seed: int, field: int) -> Integers:
    """One integer in [0, bound) per event number; bounds under 2**31 keep it unbiased to within 2**-22."""
    return np.asarray(uniform(numbers, seed, field) * bound, dtype=np.int64)


def _finalise(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def _finalise_scalar(value: int) -> int:
    return int(_finalise(np.array([value], dtype=np.uint64))[0])
