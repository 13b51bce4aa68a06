"""What the compiled offline algorithms look at and change: types with queries left, servers with room, who receives what.

``left[t]`` queries of type ``t`` are left, ``free[j]`` is the room of server ``j``, ``hosted[s, j]`` says whether
server ``j`` receives source ``s``. A round is written to ``log`` as (type, server, queries).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.rounds import Offline


class Board(NamedTuple):
    """Arrays that a kernel changes in place; rows of types as in ``QueryTypes``."""

    offsets: Integers
    sources: Integers
    rates: Floats
    work: Integers
    left: Integers
    rank: Integers
    free: Integers
    hosted: NDArray[np.bool_]
    log: Integers


def new_board(offline: Offline) -> Board:
    """The board before the first round."""
    types, rates = offline.types, offline.instance.rates
    return Board(
        types.offsets,
        types.sources,
        rates,
        types.work,
        types.count.copy(),
        offline.rank,
        offline.limits.copy(),
        np.zeros((len(rates), offline.instance.servers), dtype=np.bool_),
        np.zeros((offline.rounds_max, 3), dtype=np.int64),
    )


@njit(cache=True)
def added_traffic(t: int, j: int, board: Board) -> float:
    """The rate of the sources of type ``t`` that server ``j`` does not receive yet."""
    total = 0.0
    for e in range(board.offsets[t], board.offsets[t + 1]):
        if not board.hosted[board.sources[e], j]:
            total += board.rates[board.sources[e]]
    return total


@njit(cache=True)
def take(t: int, j: int, made: int, board: Board) -> int:
    """Round ``made``: as many queries of ``t`` as fit move to ``j``; returns the number of the next round."""
    taken = min(board.left[t], board.free[j] // board.work[t])
    board.log[made, 0], board.log[made, 1], board.log[made, 2] = t, j, taken
    board.left[t] -= taken
    board.free[j] -= taken * board.work[t]
    return made + 1
