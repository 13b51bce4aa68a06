"""IC: in every round the type and the server whose meeting adds the least traffic.

Ties go to the type that the order puts first, then to the server with the lowest number. As many queries of the type
as the server has room for move in. A heap holds the types by their least added traffic: a server that receives a new
source can only lower the keys of that source's types, so those are lowered at once; a server that fills up can only
raise keys, so those are raised when they reach the top.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whimbrel.placement.board import Board, added_traffic, new_board, take
from whimbrel.placement.heaps import build_heap, lower_item, raise_item, remove_first
from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.query_types import readers_of
from whimbrel.placement.rounds import Offline, servers_of_rounds


class _Queue(NamedTuple):
    """Types by the least traffic that they add somewhere: ``value[t]`` on server ``server[t]``."""

    heap: Integers
    place: Integers
    value: Floats
    server: Integers


def place_by_incremental_cost(offline: Offline) -> Integers:
    """The server of every query. Raises NonePacked where unequal work leaves queries over."""
    types, board = offline.types, new_board(offline)
    reader_offsets, readers = readers_of(types.offsets, types.sources, len(offline.instance.rates))
    queue = _Queue(
        np.arange(types.types),
        np.zeros(types.types, dtype=np.int64),
        np.zeros(types.types),
        np.zeros(types.types, dtype=np.int64),
    )
    made = _rounds(board, queue, reader_offsets, readers)
    return servers_of_rounds(offline, board.log[:made])


@njit(cache=True)
def _evaluate(t: int, board: Board, queue: _Queue) -> None:
    """Looks at all servers for type ``t``; its server is -1 where none has room."""
    best, where = np.inf, -1
    for j in range(len(board.free)):
        if board.free[j] >= board.work[t]:
            added = added_traffic(t, j, board)
            if added < best:
                best, where = added, j
    queue.value[t], queue.server[t] = best, where


@njit(cache=True)
def _receive(s: int, j: int, board: Board, queue: _Queue, reader_offsets: Integers, readers: Integers) -> None:
    """Server ``j`` now receives source ``s``: lowers the keys of the types for which it became the best."""
    board.hosted[s, j] = True
    for i in range(reader_offsets[s], reader_offsets[s + 1]):
        t = readers[i]
        if queue.place[t] < 0 or board.free[j] < board.work[t]:
            continue
        added = added_traffic(t, j, board)
        if added < queue.value[t]:
            queue.value[t], queue.server[t] = added, j
            raise_item(t, queue.heap, queue.place, queue.value, board.rank)
        elif added == queue.value[t] and j < queue.server[t]:
            queue.server[t] = j


@njit(cache=True)
def _rounds(board: Board, queue: _Queue, reader_offsets: Integers, readers: Integers) -> int:
    size, made = len(board.left), 0
    for t in range(size):
        _evaluate(t, board, queue)
    build_heap(queue.heap, queue.place, queue.value, board.rank, size)
    while size:
        t = queue.heap[0]
        j = queue.server[t]
        if j < 0:
            break
        if board.free[j] < board.work[t]:
            _evaluate(t, board, queue)
            lower_item(t, queue.heap, queue.place, queue.value, board.rank, size)
            continue
        made = take(t, j, made, board)
        if board.left[t] == 0:
            size = remove_first(queue.heap, queue.place, queue.value, board.rank, size)
        for e in range(board.offsets[t], board.offsets[t + 1]):
            if not board.hosted[board.sources[e], j]:
                _receive(board.sources[e], j, board, queue, reader_offsets, readers)
    return made
