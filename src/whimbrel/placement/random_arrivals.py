"""OnRand: any server that may take the query, each with the same chance. Drawn again until one may, then scanned."""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.placement.arrivals import Limits, Online, require_kept
from whimbrel.placement.instance import Integers
from whimbrel.placement.randomness import advanced, below, first_state

TRIES = 64
"""After this many refused draws the servers with room are listed and one of them drawn."""


def place_at_random_online(online: Online, rng: np.random.Generator) -> Integers:
    """The server of every query."""
    instance = online.instance
    found = _place(instance.work, instance.capacities, Limits(online.limits, online.class_of), first_state(rng))
    return require_kept(online, found)


@njit(cache=True)
def _listed(work: int, q: int, loads: Integers, capacities: Integers, online: Limits, state: np.uint64) -> int:
    """One of the servers with room at random, or the one that is least full with the query where none has room."""
    fitting = [j for j in range(len(loads)) if loads[j] + work <= online.along[online.class_of[j], q]]
    if len(fitting) > 0:
        return fitting[below(state, len(fitting))]
    least = 0
    for j in range(1, len(loads)):
        if (loads[j] + work) / capacities[j] < (loads[least] + work) / capacities[least]:
            least = j
    return least


@njit(cache=True)
def _place(work: Integers, capacities: Integers, online: Limits, state: np.uint64) -> Integers:
    loads = np.zeros(len(capacities), dtype=np.int64)
    found = np.empty(len(work), dtype=np.int64)
    for q in range(len(work)):
        j = -1
        for _ in range(TRIES):
            state = advanced(state)
            drawn = below(state, len(loads))
            if loads[drawn] + work[q] <= online.along[online.class_of[drawn], q]:
                j = drawn
                break
        if j < 0:
            state = advanced(state)
            j = _listed(work[q], q, loads, capacities, online, state)
        found[q] = j
        loads[j] += work[q]
    return found
