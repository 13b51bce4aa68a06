"""IC: in every round the type and the server whose meeting adds the least traffic.

Ties go to the type that the order puts first, then to the server with the lowest number. As many queries of the type
as the server has room for move in. A heap holds the types by their least added traffic: a server that receives a new
source can only lower the keys of that source's types, so those are lowered at once; a server that fills up can only
raise keys, so those are raised when they reach the top.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.placement.heaps import build_heap, lower_item, raise_item, remove_first
from whimbrel.placement.instance import Integers
from whimbrel.placement.query_types import readers_of
from whimbrel.placement.rounds import Offline, servers_of_rounds


def place_by_incremental_cost(offline: Offline) -> Integers:
    """The server of every query. Raises CannotPlace where unequal work leaves queries over."""
    types, instance = offline.types, offline.instance
    reader_offsets, readers = readers_of(types.offsets, types.sources, len(instance.rates))
    rounds = _rounds(
        types.offsets, types.sources, types.work, types.count.copy(), offline.rank,
        reader_offsets, readers, instance.rates, offline.limits.copy(), offline.rounds_max,
    )  # fmt: skip
    return servers_of_rounds(offline, *rounds)


@njit(cache=True)
def added_traffic(t, j, offsets, sources, rates, hosted):  # type: ignore[no-untyped-def]
    """The rate of the sources of type ``t`` that server ``j`` does not receive yet."""
    total = 0.0
    for i in range(offsets[t], offsets[t + 1]):
        if not hosted[sources[i], j]:
            total += rates[sources[i]]
    return total


@njit(cache=True)
def _least(t, offsets, sources, work, rates, hosted, free):  # type: ignore[no-untyped-def]
    """The least added traffic of type ``t`` and its server, -1 where no server has room."""
    best, where = np.inf, -1
    for j in range(len(free)):
        if free[j] >= work[t]:
            added = added_traffic(t, j, offsets, sources, rates, hosted)
            if added < best:
                best, where = added, j
    return best, where


@njit(cache=True)
def _receive(
    s, j, reader_offsets, readers, offsets, sources, rates, work, free, hosted, heap, place, value, rank, server
):  # type: ignore[no-untyped-def]
    """Server ``j`` now receives source ``s``: lowers the keys of the types for which it became the best."""
    hosted[s, j] = True
    for i in range(reader_offsets[s], reader_offsets[s + 1]):
        t = readers[i]
        if place[t] < 0 or free[j] < work[t]:
            continue
        added = added_traffic(t, j, offsets, sources, rates, hosted)
        if added < value[t]:
            value[t], server[t] = added, j
            raise_item(t, heap, place, value, rank)
        elif added == value[t] and j < server[t]:
            server[t] = j


@njit(cache=True)
def _rounds(offsets, sources, work, count, rank, reader_offsets, readers, rates, free, rounds_max):  # type: ignore[no-untyped-def]
    types = len(count)
    hosted = np.zeros((len(rates), len(free)), dtype=np.bool_)
    value, server = np.zeros(types), np.zeros(types, dtype=np.int64)
    heap, place = np.arange(types), np.zeros(types, dtype=np.int64)
    for t in range(types):
        value[t], server[t] = _least(t, offsets, sources, work, rates, hosted, free)
    build_heap(heap, place, value, rank, types)
    size, made = types, 0
    log = np.zeros((3, rounds_max), dtype=np.int64)
    while size:
        t = heap[0]
        j = server[t]
        if j < 0:
            break
        if free[j] < work[t]:
            value[t], server[t] = _least(t, offsets, sources, work, rates, hosted, free)
            lower_item(t, heap, place, value, rank, size)
            continue
        taken = min(count[t], free[j] // work[t])
        log[0, made], log[1, made], log[2, made] = t, j, taken
        made += 1
        count[t] -= taken
        free[j] -= taken * work[t]
        if count[t] == 0:
            size = remove_first(heap, place, value, rank, size)
        for i in range(offsets[t], offsets[t + 1]):
            if not hosted[sources[i], j]:
                _receive(
                    sources[i],
                    j,
                    reader_offsets,
                    readers,
                    offsets,
                    sources,
                    rates,
                    work,
                    free,
                    hosted,
                    heap,
                    place,
                    value,
                    rank,
                    server,
                )
    return log[0, :made], log[1, :made], log[2, :made]
