"""LeastCost at full speed, for queries of two sources that bring one unit of work to servers of equal capacity.

The added traffic of a query {a, b} takes four values only: nothing on servers that receive both, w(b) on those that
receive a, w(a) on those that receive b, w(a) + w(b) elsewhere. With a bit set of servers per source and one of the
servers with room, each case is an intersection of words. The least loaded server of a set is found without looking at
any server: loads are kept as bit planes (plane p holds bit p of every load), and going down from the highest plane
the set keeps the members without that bit wherever there are any. What is left is the least loaded ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.placement.arrivals import Online
from whimbrel.placement.bits import Words, drop, lowest, put, words_for
from whimbrel.placement.instance import Floats, Integers


def is_pairs_case(online: Online) -> bool:
    """Whether this kernel gives what the general one gives, to the last tie."""
    instance = online.instance
    read = instance.rates[instance.sources]
    two_each = instance.queries > 0 and bool((instance.degrees == 2).all()) and instance.is_uniform
    return two_each and bool(read.min() > 0 and read.max() < 1e12 * read.min())


def place_pairs_by_least_cost(online: Online) -> Integers:
    """The server of every query, in arrival order."""
    instance = online.instance
    words = words_for(instance.servers)
    receives = np.zeros((len(instance.rates), words), dtype=np.uint64)
    planes = np.zeros((int(online.limits.max()).bit_length() + 1, words), dtype=np.uint64)
    pairs = instance.sources.reshape(-1, 2)
    return _place(pairs, instance.rates, online.limits[0], instance.servers, receives, planes)


@njit(cache=True)
def _all_servers(servers: int, words: int) -> Words:
    everyone = np.zeros(words, dtype=np.uint64)
    for j in range(servers):
        put(everyone, j)
    return everyone


@njit(cache=True)
def _least_loaded(chosen: Words, narrowed: Words, planes: Words, height: int) -> int:
    """The lowest-numbered of the least loaded members of ``chosen``, which must not be empty."""
    for p in range(height - 1, -1, -1):
        left = np.uint64(0)
        for i in range(len(chosen)):
            narrowed[i] = chosen[i] & ~planes[p, i]
            left |= narrowed[i]
        if left != 0:
            for i in range(len(chosen)):
                chosen[i] = narrowed[i]
    for i in range(len(chosen)):
        if chosen[i] != 0:
            return 64 * i + lowest(chosen[i])
    return -1


@njit(cache=True)
def _candidates(a: Words, b: Words, w_a: float, w_b: float, opened: Words, chosen: Words) -> bool:
    """Fills ``chosen`` with the open servers where the query adds the least traffic; False without open servers."""
    both, only_a, only_b = np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(len(opened)):
        chosen[i] = a[i] & b[i] & opened[i]
        both |= chosen[i]
        only_a |= a[i] & opened[i]
        only_b |= b[i] & opened[i]
    if both != 0:
        return True
    take_a = only_a != 0 and (only_b == 0 or w_b <= w_a)
    take_b = only_b != 0 and (only_a == 0 or w_a <= w_b)
    anywhere = np.uint64(0)
    for i in range(len(opened)):
        if take_a and take_b:
            chosen[i] = (a[i] | b[i]) & opened[i]
        elif take_a:
            chosen[i] = a[i] & opened[i]
        elif take_b:
            chosen[i] = b[i] & opened[i]
        else:
            chosen[i] = opened[i]
        anywhere |= chosen[i]
    return anywhere != 0


@njit(cache=True)
def _reopen(opened: Words, everyone: Words, loads: Integers, limit: int) -> None:
    for i in range(len(opened)):
        opened[i] = everyone[i]
    for j in range(len(loads)):
        if loads[j] >= limit:
            drop(opened, j)


@njit(cache=True)
def _add_one(planes: Words, loads: Integers, j: int) -> int:
    """Adds one to the load of ``j``: a carry runs up the planes; returns how many planes are in use."""
    word, bit = j >> 6, np.uint64(1) << np.uint64(j & 63)
    p = 0
    while planes[p, word] & bit != 0:
        planes[p, word] &= ~bit
        p += 1
    planes[p, word] |= bit
    loads[j] += 1
    return p + 1


@njit(cache=True)
def _place(pairs: Integers, rates: Floats, limits: Integers, servers: int, receives: Words, planes: Words) -> Integers:
    words = receives.shape[1]
    everyone = _all_servers(servers, words)
    opened, chosen, narrowed = everyone.copy(), everyone.copy(), everyone.copy()
    loads = np.zeros(servers, dtype=np.int64)
    found = np.empty(len(pairs), dtype=np.int64)
    limit, height = np.int64(-1), 1
    for q in range(len(pairs)):
        if limits[q] > limit:
            limit = limits[q]
            _reopen(opened, everyone, loads, limit)
        a, b = pairs[q, 0], pairs[q, 1]
        if not _candidates(receives[a], receives[b], rates[a], rates[b], opened, chosen):
            chosen[:] = everyone
        j = _least_loaded(chosen, narrowed, planes, height)
        found[q] = j
        put(receives[a], j)
        put(receives[b], j)
        height = max(height, _add_one(planes, loads, j))
        if loads[j] >= limit:
            drop(opened, j)
    return found
