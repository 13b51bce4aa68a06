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

from typing import NamedTuple

import numpy as np
from numba import njit

from whimbrel.placement.board import Board, added_traffic, new_board, take
from whimbrel.placement.heaps import build_heap, lower_item, raise_item, remove_first
from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.query_types import QueryTypes, readers_of
from whimbrel.placement.rounds import Offline, servers_of_rounds
from whimbrel.placement.skew_heaps import Pool, grown, merged, new_pool, single, without_first


class _Lists(NamedTuple):
    """List ``s`` holds the types of source ``s``, the last one all types; sorted by key, then rank.

    ``head[s]`` is its first entry whose type may have queries left.
    """

    offsets: Integers
    types: Integers
    keys: Floats
    head: Integers


def place_by_server_traffic(offline: Offline) -> Integers:
    """The server of every query. Raises NonePacked where unequal work leaves queries over."""
    board = new_board(offline)
    made = _rounds(board, _sorted_lists(offline.types, offline.rank, offline.instance.rates))
    return servers_of_rounds(offline, board.log[:made])


def _sorted_lists(types: QueryTypes, rank: Integers, rates: Floats) -> _Lists:
    reader_offsets, readers = readers_of(types.offsets, types.sources, len(rates))
    everyone = np.arange(types.types)
    source_of = np.concatenate((np.repeat(np.arange(len(rates)), np.diff(reader_offsets)), np.full(types.types, -1)))
    entries = np.concatenate((readers, everyone))
    keys = _rest_traffic(types.offsets, types.sources, rates, source_of, entries)
    order = np.lexsort((rank[entries], keys, np.where(source_of < 0, len(rates), source_of)))
    offsets = np.concatenate((reader_offsets, [reader_offsets[-1] + types.types]))
    return _Lists(offsets, entries[order], keys[order], offsets[:-1].copy())


@njit(cache=True)
def _rest_traffic(offsets: Integers, sources: Integers, rates: Floats, but: Integers, entries: Integers) -> Floats:
    """For each entry, the rate of its type's sources other than ``but``, added in row order."""
    rest = np.zeros(len(entries))
    for entry in range(len(entries)):
        t = entries[entry]
        for e in range(offsets[t], offsets[t + 1]):
            if sources[e] != but[entry]:
                rest[entry] += rates[sources[e]]
    return rest


@njit(cache=True)
def _head(s: int, room: int, lists: _Lists, board: Board) -> int:
    """The first entry of list ``s`` whose type has queries left and fits into ``room``; -1 without one."""
    end = lists.offsets[s + 1]
    while lists.head[s] < end and board.left[lists.types[lists.head[s]]] == 0:
        lists.head[s] += 1
    entry = lists.head[s]
    while entry < end and (board.left[lists.types[entry]] == 0 or board.work[lists.types[entry]] > room):
        entry += 1
    return entry if entry < end else -1


@njit(cache=True)
def _refreshed(root: int, room: int, pool: Pool, lists: _Lists, board: Board) -> tuple[int, int]:
    """The heap of a server once its top is exact, and the type on top: (-1, -1) where no type fits."""
    while root >= 0:
        if pool.content[root] >= 0:
            t = pool.content[root]
            if board.left[t] > 0 and board.work[t] <= room:
                return root, t
            root = without_first(root, pool)
            continue
        entry = _head(-1 - pool.content[root], room, lists, board)
        if entry >= 0 and pool.rank[root] == board.rank[lists.types[entry]]:
            return root, lists.types[entry]
        top = root
        root = without_first(root, pool)
        if entry >= 0:
            pool.value[top], pool.rank[top] = lists.keys[entry], board.rank[lists.types[entry]]
            root = merged(root, top, pool)
    return root, -1


@njit(cache=True)
def _shared_sources(t: int, j: int, board: Board) -> int:
    shared = 0
    for e in range(board.offsets[t], board.offsets[t + 1]):
        shared += board.hosted[board.sources[e], j]
    return shared


@njit(cache=True)
def _receive(s: int, j: int, root: int, used: int, pool: Pool, lists: _Lists, board: Board) -> tuple[int, int, Pool]:
    """Server ``j`` now receives ``s``: enters the list of ``s`` and every type that shares two sources with j now."""
    board.hosted[s, j] = True
    while used + 1 + lists.offsets[s + 1] - lists.offsets[s] > len(pool.value):
        pool = grown(pool)
    root = merged(root, single(used, -1.0, -1, -1 - s, pool), pool)
    used += 1
    for entry in range(lists.offsets[s], lists.offsets[s + 1]):
        t = lists.types[entry]
        if board.left[t] > 0 and board.work[t] <= board.free[j] and _shared_sources(t, j, board) > 1:
            root = merged(root, single(used, added_traffic(t, j, board), board.rank[t], t, pool), pool)
            used += 1
    return root, used, pool


@njit(cache=True)
def _rounds(board: Board, lists: _Lists) -> int:
    servers, made = len(board.free), 0
    pool, used = new_pool(max(1 << 16, servers)), servers
    roots, traffic = np.arange(servers), np.zeros(servers)
    value, rank = np.zeros(servers), np.full(servers, -1)
    heap, place, size = np.arange(servers), np.zeros(servers, dtype=np.int64), servers
    for j in range(servers):
        single(j, -1.0, -1, -1 - len(board.rates), pool)
    build_heap(heap, place, value, rank, size)
    while size:
        j = heap[0]
        roots[j], t = _refreshed(roots[j], board.free[j], pool, lists, board)
        if t < 0:
            size = remove_first(heap, place, value, rank, size)
            continue
        added = pool.value[roots[j]]
        if traffic[j] + added == value[j] and board.rank[t] == rank[j]:
            made = take(t, j, made, board)
            traffic[j] += added
            value[j], rank[j] = traffic[j], -1
            for e in range(board.offsets[t], board.offsets[t + 1]):
                if not board.hosted[board.sources[e], j]:
                    roots[j], used, pool = _receive(board.sources[e], j, roots[j], used, pool, lists, board)
        else:
            value[j], rank[j] = traffic[j] + added, board.rank[t]
        raise_item(j, heap, place, value, rank)
        lower_item(j, heap, place, value, rank, size)
    return made
