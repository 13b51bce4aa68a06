"""MMS: in every round the type and the server for which the server's traffic ends up least.

Ties go to the type that the order puts first, then to the server with the lowest number. As many queries of the type
as the server has room for move in.

Server j's best type is the least of three kinds of candidates, held in one heap per server:
* the first type of the order by own traffic (shared by all servers) - right for types that j shares nothing with;
* for each source s that j receives, the first type of s by the traffic of its *other* sources - right for types that
  share only s with j, and too much for the rest;
* each type that shares two sources or more with j, with its exact added traffic, entered when the second one arrives.
The lists behind the first two only ever lose types, so a key read earlier is never too large: keys are refreshed when
they reach the top, and only then.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.placement.heaps import build_heap, lower_item, raise_item, remove_first
from whimbrel.placement.incremental_cost import added_traffic
from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.query_types import readers_of
from whimbrel.placement.rounds import Offline, servers_of_rounds
from whimbrel.placement.skew_heaps import grown, merged, new_pool, without_first


def place_by_server_traffic(offline: Offline) -> Integers:
    """The server of every query. Raises CannotPlace where unequal work leaves queries over."""
    types, rates = offline.types, offline.instance.rates
    sources, lists = _source_lists(offline)
    rounds = _rounds(
        types.offsets, types.sources, types.work, types.count.copy(), offline.rank,
        lists, sources[0], sources[1], sources[2], rates, offline.limits.copy(), offline.rounds_max,
    )  # fmt: skip
    return servers_of_rounds(offline, *rounds)


def _source_lists(offline: Offline) -> tuple[tuple[Integers, Integers, Floats], Integers]:
    """Per source, and in one last row for all types: (offsets, types, keys) by added traffic, then rank."""
    types, rates = offline.types, offline.instance.rates
    reader_offsets, readers = readers_of(types.offsets, types.sources, len(rates))
    source_of = np.repeat(np.arange(len(rates)), np.diff(reader_offsets))
    alone = _rest_traffic(types.offsets, types.sources, rates, source_of, readers)
    order = np.lexsort((offline.rank[readers], alone, source_of))
    whole = np.asarray(
        _rest_traffic(types.offsets, types.sources, rates, np.full(types.types, -1), np.arange(types.types))
    )
    all_types = np.lexsort((offline.rank, whole))
    offsets = np.concatenate((reader_offsets, [reader_offsets[-1] + types.types]))
    lists = np.concatenate((readers[order], all_types))
    return (offsets, np.concatenate((alone[order], whole[all_types])), offsets[:-1].copy()), lists


@njit(cache=True)
def _rest_traffic(offsets, sources, rates, source_of, readers):  # type: ignore[no-untyped-def]
    """For each entry, the rate of the type's sources other than the entry's own, added in row order."""
    rest = np.zeros(len(readers))
    for entry in range(len(readers)):
        t = readers[entry]
        for i in range(offsets[t], offsets[t + 1]):
            if sources[i] != source_of[entry]:
                rest[entry] += rates[sources[i]]
    return rest


@njit(cache=True)
def _head(s, room, lists, list_offsets, heads, count, work):  # type: ignore[no-untyped-def]
    """The first entry of list ``s`` whose type has queries left and fits into ``room``; -1 without one."""
    end = list_offsets[s + 1]
    while heads[s] < end and count[lists[heads[s]]] == 0:
        heads[s] += 1
    entry = heads[s]
    while entry < end and (count[lists[entry]] == 0 or work[lists[entry]] > room):
        entry += 1
    return entry if entry < end else -1


@njit(cache=True)
def _best(root, room, pool, lists, list_offsets, list_keys, heads, count, work, rank):  # type: ignore[no-untyped-def]
    """Refreshes the top of a server's heap until it is exact: (root, added traffic, type), -1 for none."""
    value, ranks, content, _, _ = pool
    while root >= 0:
        if content[root] >= 0:
            t = content[root]
            if count[t] > 0 and work[t] <= room:
                return root, value[root], t
            root = without_first(root, pool)
            continue
        entry = _head(-1 - content[root], room, lists, list_offsets, heads, count, work)
        if entry < 0:
            root = without_first(root, pool)
        elif ranks[root] == rank[lists[entry]]:
            return root, value[root], lists[entry]
        else:
            top = root
            root = without_first(root, pool)
            value[top], ranks[top] = list_keys[entry], rank[lists[entry]]
            root = merged(root, top, pool)
    return root, np.inf, -1


@njit(cache=True)
def _entered(root, node, key, node_rank, content, pool):  # type: ignore[no-untyped-def]
    value, ranks, contents, left, right = pool
    value[node], ranks[node], contents[node] = key, node_rank, content
    left[node], right[node] = -1, -1
    return merged(root, node, pool)


@njit(cache=True)
def _shared_sources(t, j, offsets, sources, hosted):  # type: ignore[no-untyped-def]
    shared = 0
    for i in range(offsets[t], offsets[t + 1]):
        shared += hosted[sources[i], j]
    return shared


@njit(cache=True)
def _receive(s, j, root, used, pool, lists, list_offsets, offsets, sources, rates, work, count, room, rank, hosted):  # type: ignore[no-untyped-def]
    """Server ``j`` now receives ``s``: enters the list of ``s`` and every type that shares two sources with j now."""
    hosted[s, j] = True
    while used + 1 + list_offsets[s + 1] - list_offsets[s] > len(pool[0]):
        pool = grown(pool)
    root = _entered(root, used, -1.0, -1, -1 - s, pool)
    used += 1
    for entry in range(list_offsets[s], list_offsets[s + 1]):
        t = lists[entry]
        if count[t] == 0 or work[t] > room:
            continue
        if _shared_sources(t, j, offsets, sources, hosted) > 1:
            added = added_traffic(t, j, offsets, sources, rates, hosted)
            root = _entered(root, used, added, rank[t], t, pool)
            used += 1
    return root, used, pool


@njit(cache=True)
def _rounds(offsets, sources, work, count, rank, lists, list_offsets, list_keys, heads, rates, free, rounds_max):  # type: ignore[no-untyped-def]
    servers, everything = len(free), len(rates)
    hosted = np.zeros((len(rates), servers), dtype=np.bool_)
    pool, used = new_pool(1 << 16), servers
    while used > len(pool[0]):
        pool = grown(pool)
    roots, traffic = np.arange(servers), np.zeros(servers)
    value, best_rank = np.zeros(servers), np.zeros(servers, dtype=np.int64)
    heap, place, size = np.arange(servers), np.zeros(servers, dtype=np.int64), servers
    for j in range(servers):
        _entered(-1, j, -1.0, -1, -1 - everything, pool)
        best_rank[j] = -1
    build_heap(heap, place, value, best_rank, size)
    log, made = np.zeros((3, rounds_max), dtype=np.int64), 0
    while size:
        j = heap[0]
        roots[j], added, t = _best(roots[j], free[j], pool, lists, list_offsets, list_keys, heads, count, work, rank)
        if t < 0:
            size = remove_first(heap, place, value, best_rank, size)
            continue
        if traffic[j] + added != value[j] or rank[t] != best_rank[j]:
            value[j], best_rank[j] = traffic[j] + added, rank[t]
            raise_item(j, heap, place, value, best_rank)
            lower_item(j, heap, place, value, best_rank, size)
            continue
        taken = min(count[t], free[j] // work[t])
        log[0, made], log[1, made], log[2, made] = t, j, taken
        made += 1
        count[t] -= taken
        free[j] -= taken * work[t]
        traffic[j] += added
        value[j], best_rank[j] = traffic[j], -1
        for i in range(offsets[t], offsets[t + 1]):
            if not hosted[sources[i], j]:
                roots[j], used, pool = _receive(
                    sources[i],
                    j,
                    roots[j],
                    used,
                    pool,
                    lists,
                    list_offsets,
                    offsets,
                    sources,
                    rates,
                    work,
                    count,
                    free[j],
                    rank,
                    hosted,
                )
        lower_item(j, heap, place, value, best_rank, size)
        raise_item(j, heap, place, value, best_rank)
    return log[0, :made], log[1, :made], log[2, :made]
