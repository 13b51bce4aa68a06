"""Which server takes a query that arrives now: the online rules over live servers, for compiled kernels.

The same rules as in ``arrivals``, for a number of queries and servers that changes both ways. Equally good servers:
the least full one, then the one with the lowest number. Only servers that receive a source of the query are looked at,
and the first of the others by the heap of ``hosting``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.placement.bits import lowest
from whimbrel.placement.heaps import is_less, place_after
from whimbrel.placement.hosting import SERVERS, Hosts, Network, added_on
from whimbrel.placement.randomness import advanced, below
from whimbrel.placement.room import Room, Slack, fits, room_now

GREEDY, RANDOM = 0, 1
"""Whether a rule weighs traffic (which, ``Hosts.value`` knows) or nothing."""

TRIES = 64


@njit(cache=True)
def least_full(work: int, hosts: Hosts) -> int:
    """The server that is least full once it carries ``work`` more."""
    best, least = -1, np.inf
    for j in range(len(hosts.loads)):
        if hosts.up[j] and (hosts.loads[j] + work) / hosts.capacity[j] < least:
            best, least = j, (hosts.loads[j] + work) / hosts.capacity[j]
    return best


@njit(cache=True)
def first_with_room(work: int, room: Room, hosts: Hosts) -> int:
    """The first server by (value, fullness, number) that has room; -1 without one.

    A walk over the heap that goes down only below servers that have none and come before the best so far.
    """
    here, best = 0, -1
    while here < hosts.totals[SERVERS]:
        j = hosts.heap[here]
        if best < 0 or is_less(j, best, hosts.value, hosts.fullness):
            if fits(j, work, room, hosts):
                best = j
            elif 2 * here + 1 < hosts.totals[SERVERS]:
                here = 2 * here + 1
                continue
        here = place_after(here)
        if here >= hosts.totals[SERVERS]:
            here = place_after(here)
        if here == 0:
            break
    return best


@njit(cache=True)
def _is_better(key: float, i: int, best: float, j: int, hosts: Hosts) -> bool:
    if key != best:
        return key < best
    return j < 0 or hosts.fullness[i] < hosts.fullness[j] or (hosts.fullness[i] == hosts.fullness[j] and i < j)


@njit(cache=True)
def best_sharing(q: int, room: Room, network: Network, hosts: Hosts) -> tuple[int, float]:
    """The best server with room that receives a source of ``q``, and its key: (-1, inf) without one."""
    j, best = -1, np.inf
    start, end = network.offsets[q], network.offsets[q + 1]
    for word in range(hosts.receives.shape[1]):
        touched = np.uint64(0)
        for e in range(start, end):
            touched |= hosts.receives[network.sources[e], word]
        while touched != 0:
            i = 64 * word + lowest(touched)
            touched &= touched - np.uint64(1)
            if fits(i, network.work[q], room, hosts):
                key = hosts.value[i] + added_on(q, i, network, hosts)
                if _is_better(key, i, best, j, hosts):
                    best, j = key, i
    return j, best


@njit(cache=True)
def _greedy(q: int, room: Room, network: Network, hosts: Hosts) -> int:
    j, best = best_sharing(q, room, network, hosts)
    i = first_with_room(network.work[q], room, hosts)
    if i >= 0 and _is_better(hosts.value[i] + added_on(q, i, network, hosts), i, best, j, hosts):
        return i
    return j


@njit(cache=True)
def _random(work: int, room: Room, hosts: Hosts, state: np.uint64) -> tuple[int, np.uint64]:
    for _ in range(TRIES):
        state = advanced(state)
        j = below(state, len(hosts.loads))
        if hosts.up[j] and fits(j, work, room, hosts):
            return j, state
    state = advanced(state)
    fitting = [j for j in range(len(hosts.loads)) if hosts.up[j] and fits(j, work, room, hosts)]
    return (fitting[below(state, len(fitting))] if len(fitting) > 0 else -1), state


@njit(cache=True)
def choose(q: int, rule: int, slack: Slack, network: Network, hosts: Hosts, state: np.uint64) -> tuple[int, np.uint64]:
    """The server for the arriving query ``q``, which is not live yet, and the next random state."""
    work = network.work[q]
    room = room_now(work, slack, hosts)
    if rule == RANDOM:
        j, state = _random(work, room, hosts, state)
    else:
        j = _greedy(q, room, network, hosts)
    return (j if j >= 0 else least_full(work, hosts)), state
