"""Random numbers inside compiled kernels: SplitMix64, a state of one word, the same in plain Python.

A kernel gets its first state from the caller's generator, so that a seed replays everything.
"""

from __future__ import annotations

import numpy as np
from numba import njit

STEP = np.uint64(0x9E3779B97F4A7C15)
"""From one state to the next."""


@njit(cache=True)
def advanced(state: np.uint64) -> np.uint64:
    """The next state."""
    return state + STEP


@njit(cache=True)
def word_of(state: np.uint64) -> np.uint64:
    """64 random bits of a state."""
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@njit(cache=True)
def below(state: np.uint64, bound: int) -> int:
    """A number from 0 to ``bound`` - 1: the high half of the word, scaled. ``bound`` must be under 2^32."""
    return np.int64(((word_of(state) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True)
def unit_of(state: np.uint64) -> float:
    """A float in [0, 1)."""
    return np.float64(word_of(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def first_state(rng: np.random.Generator) -> np.uint64:
    """A state to start from, drawn from the caller's generator."""
    return np.uint64(rng.integers(1, 2**63))
