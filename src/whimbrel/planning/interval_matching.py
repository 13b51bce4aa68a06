"""Which new interval keeps which old one: the matching with the most shared state.

Old and new intervals in the order of the bins, so the pairs that share bins form a staircase in which each pair differs
from the one before in its old interval, its new one, or both. Pairs of one old (or one new) interval are neighbours
there; a matching takes at most one of each such run. One pass over the staircase finds the best, in O(old + new).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.planning.ssm_terrain import Integers


@njit(cache=True)
def keepers_of(prefix: Integers, old: Integers, new: Integers) -> tuple[int, Integers]:
    """(shared state, keepers): per new interval the old one that keeps it, or -1.

    ``prefix[x]`` is the state before position x; ``old`` and ``new`` are ascending cuts from 0 to m.
    """
    pairs = len(old) + len(new)
    value, before = np.zeros(pairs, np.int64), np.empty(pairs, np.int64)
    best, best_at = np.zeros(pairs + 1, np.int64), np.full(pairs + 1, -1)
    olds, news = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
    z, j, count, old_run, new_run = 0, 0, 0, 0, 0
    while z < len(old) - 1 and j < len(new) - 1:
        shared = prefix[min(old[z + 1], new[j + 1])] - prefix[max(old[z], new[j])]
        earlier = min(old_run, new_run)
        value[count], before[count] = best[earlier] + shared, best_at[earlier]
        olds[count], news[count] = z, j
        best[count + 1], best_at[count + 1] = best[count], best_at[count]
        if shared > 0 and value[count] > best[count]:
            best[count + 1], best_at[count + 1] = value[count], count
        count += 1
        step_old, step_new = old[z + 1] <= new[j + 1], new[j + 1] <= old[z + 1]
        if step_old:
            z, old_run = z + 1, count
        if step_new:
            j, new_run = j + 1, count
    keepers = np.full(len(new) - 1, -1)
    at = best_at[count]
    while at >= 0:
        keepers[news[at]] = olds[at]
        at = before[at]
    return best[count], keepers


@njit(cache=True)
def shared_state(prefix: Integers, old: Integers, new: Integers) -> int:
    """The most state that can stay when the old intervals become the new ones."""
    return keepers_of(prefix, old, new)[0]
