"""The greedy online algorithms in general: any number of sources, unequal work, unequal capacities.

LeastCost takes the server where the query adds the least traffic; LeastSource the one whose traffic ends up least;
LeastQT the one that ends up with the fewest query types, which is LeastSource when every type is a source of rate 1
and every query reads its type. Only servers that receive one of the query's sources are looked at, and besides them
the best of all servers by the same key with nothing shared, which sits on top of a heap; all servers are scanned only
when that one has no room.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.placement.arrivals import Online, require_kept
from whimbrel.placement.bits import has, lowest, put, words_for
from whimbrel.placement.heaps import lower_item
from whimbrel.placement.instance import Integers
from whimbrel.placement.least_cost import is_pairs_case, place_pairs_by_least_cost
from whimbrel.placement.query_types import merge_types

_NOTHING = np.empty(0, dtype=np.int64)


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
    types = merge_types(online.instance)
    offsets = np.arange(online.instance.queries + 1)
    return place_greedily(online, True, offsets, types.type_of, np.ones(types.types))


def place_greedily(
    online: Online,
    weigh_traffic: bool,
    offsets: Integers | None = None,
    sources: Integers | None = None,
    rates: np.ndarray | None = None,
    reserved: tuple[Integers, Integers, Integers, Integers] = (_NOTHING, _NOTHING, _NOTHING, _NOTHING),
) -> Integers:
    """The general kernel: by added traffic, plus the server's own traffic where ``weigh_traffic`` says so.

    ``reserved`` is (type of each query, offsets, servers, counts): places kept for each type, used first.
    """
    instance = online.instance
    found = _place(
        instance.offsets if offsets is None else offsets,
        instance.sources if sources is None else sources,
        instance.rates if rates is None else rates,
        instance.work, instance.capacities, online.limits, online.class_of, weigh_traffic,
        words_for(instance.servers), reserved[0], reserved[1], reserved[2], reserved[3].copy(),
    )  # fmt: skip
    return require_kept(online, found)


@njit(cache=True)
def _reserved_server(t, offsets, servers, left, loads, work, limits, class_of, q):  # type: ignore[no-untyped-def]
    """The entry of type ``t`` with the most places left on a server that has room; -1 without one."""
    best = -1
    for entry in range(offsets[t], offsets[t + 1]):
        j = servers[entry]
        if left[entry] > 0 and loads[j] + work <= limits[class_of[j], q] and (best < 0 or left[entry] > left[best]):
            best = entry
    return best


@njit(cache=True)
def _added(row, rates, receives, j):  # type: ignore[no-untyped-def]
    total = 0.0
    for s in row:
        if not has(receives[s], j):
            total += rates[s]
    return total


@njit(cache=True)
def _scan(work, loads, fullness, value, limits, class_of, q, anyone):  # type: ignore[no-untyped-def]
    """The best server by (value, fullness, number) among those with room, or among all by fullness; -1 for none."""
    best = -1
    for j in range(len(loads)):
        if anyone:
            if best < 0 or fullness[j] < fullness[best]:
                best = j
        elif loads[j] + work <= limits[class_of[j], q] and (
            best < 0 or value[j] < value[best] or (value[j] == value[best] and fullness[j] < fullness[best])
        ):
            best = j
    return best


@njit(cache=True)
def _choose(row, work, rates, receives, loads, fullness, value, top, limits, class_of, q):  # type: ignore[no-untyped-def]
    j = (
        top
        if loads[top] + work <= limits[class_of[top], q]
        else _scan(work, loads, fullness, value, limits, class_of, q, False)
    )
    if j < 0:
        return _scan(work, loads, fullness, value, limits, class_of, q, True)
    best = value[j] + _added(row, rates, receives, j)
    for word in range(receives.shape[1]):
        touched = np.uint64(0)
        for s in row:
            touched |= receives[s, word]
        while touched != 0:
            i = 64 * word + lowest(touched)
            touched &= touched - np.uint64(1)
            if loads[i] + work > limits[class_of[i], q]:
                continue
            key = value[i] + _added(row, rates, receives, i)
            if key < best or (key == best and (fullness[i] < fullness[j] or (fullness[i] == fullness[j] and i < j))):
                best, j = key, i
    return j


@njit(cache=True)
def _place(
    offsets,
    sources,
    rates,
    work,
    capacities,
    limits,
    class_of,
    weigh_traffic,
    words,
    type_of,
    kept_offsets,
    kept_servers,
    kept_left,
):  # type: ignore[no-untyped-def]
    servers = len(capacities)
    receives = np.zeros((len(rates), words), dtype=np.uint64)
    loads, fullness, value = np.zeros(servers, dtype=np.int64), np.zeros(servers), np.zeros(servers)
    heap, place = np.arange(servers), np.arange(servers)
    found = np.empty(len(offsets) - 1, dtype=np.int64)
    for q in range(len(found)):
        row = sources[offsets[q] : offsets[q + 1]]
        entry = -1
        if len(type_of):
            entry = _reserved_server(
                type_of[q], kept_offsets, kept_servers, kept_left, loads, work[q], limits, class_of, q
            )
        if entry >= 0:
            j = kept_servers[entry]
            kept_left[entry] -= 1
        else:
            j = _choose(row, work[q], rates, receives, loads, fullness, value, heap[0], limits, class_of, q)
        found[q] = j
        if weigh_traffic:
            value[j] += _added(row, rates, receives, j)
        for s in row:
            put(receives[s], j)
        loads[j] += work[q]
        fullness[j] = loads[j] / capacities[j]
        lower_item(j, heap, place, value, fullness, servers)
    return found
