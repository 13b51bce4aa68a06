"""The greedy online algorithms in general: any number of sources, unequal work, unequal capacities.

LeastCost takes the server where the query adds the least traffic; LeastSource the one whose traffic ends up least;
LeastQT the one that ends up with the fewest query types, which is LeastSource when every type is a source of rate 1
and every query reads its type. Only servers that receive one of the query's sources are looked at, and besides them
the best of all servers by the same key with nothing shared, which sits on top of a heap; all servers are scanned only
when that one has no room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whimbrel.placement.arrivals import Limits, Online, require_kept
from whimbrel.placement.bits import Words, has, lowest, put, words_for
from whimbrel.placement.heaps import lower_item
from whimbrel.placement.hosting import Network, network_of, types_as_sources
from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.least_cost import is_pairs_case, place_pairs_by_least_cost

_NOTHING = np.empty(0, dtype=np.int64)


class Reserved(NamedTuple):
    """Places kept: entries ``offsets[t]:offsets[t + 1]`` keep ``left`` places on ``server`` for queries of type t.

    ``type_of`` is the type of every query; empty where nothing is kept.
    """

    type_of: Integers = _NOTHING
    offsets: Integers = _NOTHING
    server: Integers = _NOTHING
    left: Integers = _NOTHING


class _Servers(NamedTuple):
    """Loads, load per capacity, the part of the key that the server brings, and who receives what."""

    loads: Integers
    fullness: Floats
    value: Floats
    receives: Words


def place_by_least_cost(online: Online) -> Integers:
    """The server of every query; the fast kernel where it applies."""
    if is_pairs_case(online):
        return place_pairs_by_least_cost(online)
    return place_greedily(online, weigh_traffic=False)


def place_by_least_source(online: Online) -> Integers:
    """The server of every query."""
    return place_greedily(online, weigh_traffic=True)


def place_by_least_types(online: Online) -> Integers:
    """The server of every query."""
    return place_greedily(online, weigh_traffic=True, network=types_as_sources(online.instance))


def place_greedily(
    online: Online, weigh_traffic: bool, network: Network | None = None, reserved: Reserved | None = None
) -> Integers:
    """The general kernel: by added traffic, plus the server's own traffic where ``weigh_traffic`` says so.

    Reserved places are used first. ``network`` replaces what the queries read.
    """
    instance, k = online.instance, online.instance.servers
    network = network or network_of(instance)
    receives = np.zeros((len(network.rates), words_for(k)), dtype=np.uint64)
    servers = _Servers(np.zeros(k, dtype=np.int64), np.zeros(k), np.zeros(k), receives)
    kept = reserved or Reserved()
    kept = kept._replace(left=kept.left.copy())
    limits = Limits(online.limits, online.class_of)
    found = _place(network, instance.capacities, limits, servers, kept, weigh_traffic)
    return require_kept(online, found)


@njit(cache=True)
def _fits(j: int, work: int, q: int, limits: Limits, servers: _Servers) -> bool:
    return servers.loads[j] + work <= limits.along[limits.class_of[j], q]


@njit(cache=True)
def _reserved_entry(q: int, work: int, kept: Reserved, limits: Limits, servers: _Servers) -> int:
    """The entry of the query's type with the most places left on a server that has room; -1 without one."""
    best = -1
    if len(kept.type_of) == 0:
        return best
    t = kept.type_of[q]
    for entry in range(kept.offsets[t], kept.offsets[t + 1]):
        better = kept.left[entry] > 0 and (best < 0 or kept.left[entry] > kept.left[best])
        if better and _fits(kept.server[entry], work, q, limits, servers):
            best = entry
    return best


@njit(cache=True)
def _added(q: int, j: int, network: Network, servers: _Servers) -> float:
    total = 0.0
    for e in range(network.offsets[q], network.offsets[q + 1]):
        if not has(servers.receives[network.sources[e]], j):
            total += network.rates[network.sources[e]]
    return total


@njit(cache=True)
def _is_better(key: float, i: int, best: float, j: int, servers: _Servers) -> bool:
    if key != best:
        return key < best
    if servers.fullness[i] != servers.fullness[j]:
        return servers.fullness[i] < servers.fullness[j]
    return i < j


@njit(cache=True)
def _scan(q: int, work: int, capacities: Integers, limits: Limits, servers: _Servers) -> int:
    """The best server with room by (value, fullness, number); without any, the one least full with the query, as ~j."""
    best, least_full, least = -1, 0, np.inf
    for j in range(len(servers.loads)):
        then = (servers.loads[j] + work) / capacities[j]
        if then < least:
            least_full, least = j, then
        fits = _fits(j, work, q, limits, servers)
        if fits and (best < 0 or _is_better(servers.value[j], j, servers.value[best], best, servers)):
            best = j
    return best if best >= 0 else ~least_full


@njit(cache=True)
def _choose(
    q: int, work: int, top: int, capacities: Integers, network: Network, limits: Limits, servers: _Servers
) -> int:
    j = top if _fits(top, work, q, limits, servers) else _scan(q, work, capacities, limits, servers)
    if j < 0:
        return ~j
    best = servers.value[j] + _added(q, j, network, servers)
    for word in range(servers.receives.shape[1]):
        touched = np.uint64(0)
        for e in range(network.offsets[q], network.offsets[q + 1]):
            touched |= servers.receives[network.sources[e], word]
        while touched != 0:
            i = 64 * word + lowest(touched)
            touched &= touched - np.uint64(1)
            if _fits(i, work, q, limits, servers):
                key = servers.value[i] + _added(q, i, network, servers)
                if _is_better(key, i, best, j, servers):
                    best, j = key, i
    return j


@njit(cache=True)
def _place(
    network: Network,
    capacities: Integers,
    limits: Limits,
    servers: _Servers,
    kept: Reserved,
    weigh_traffic: bool,
) -> Integers:
    heap, place = np.arange(len(capacities)), np.arange(len(capacities))
    found = np.empty(len(network.offsets) - 1, dtype=np.int64)
    for q in range(len(found)):
        entry = _reserved_entry(q, network.work[q], kept, limits, servers)
        if entry >= 0:
            j = kept.server[entry]
            kept.left[entry] -= 1
        else:
            j = _choose(q, network.work[q], heap[0], capacities, network, limits, servers)
        found[q] = j
        if weigh_traffic:
            servers.value[j] += _added(q, j, network, servers)
        for e in range(network.offsets[q], network.offsets[q + 1]):
            put(servers.receives[network.sources[e]], j)
        servers.loads[j] += network.work[q]
        servers.fullness[j] = servers.loads[j] / capacities[j]
        lower_item(j, heap, place, servers.value, servers.fullness, len(heap))
    return found
