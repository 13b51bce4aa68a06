"""MQP: server after server takes the largest types until the servers after it can hold what is left.

For the server before r others, with n' units of work unplaced, the target is theta = n' - (the limits of the r
others): less, and the rest would not fit; more is not needed. That is Definition 2 of Zong et al. with n' and r for n and
k - 1, and the bound 2 d_max (log k + 1) * (largest rate / smallest rate) holds for it. theta is negative whenever the
slack is more than the servers to come need; such a server takes nothing (``fill="theta"``). With ``fill="limit"``
every server takes types until it is full: no bound, and what a reader of the paper's figures would expect.
"""

from __future__ import annotations

import numpy as np

from whimbrel.model.errors import BadInput
from whimbrel.placement.instance import Integers
from whimbrel.placement.rounds import Offline, servers_of_rounds

FILLS = ("theta", "limit")
"""How far a server is filled."""


def place_by_minimum_packing(offline: Offline, fill: str = "theta") -> Integers:
    """The server of every query. Raises NonePacked where unequal work leaves queries over."""
    if fill not in FILLS:
        raise BadInput(f"there is no fill '{fill}': use one of {', '.join(FILLS)}")
    work, count = offline.types.work.tolist(), offline.types.count.tolist()
    waiting = np.argsort(offline.rank, kind="stable").tolist()
    unplaced, later = offline.instance.total_work, int(offline.limits.sum())
    rounds: list[tuple[int, int, int]] = []
    first = 0
    for server, limit in enumerate(offline.limits.tolist()):
        later -= limit
        target = limit if fill == "limit" else max(0, unplaced - later)
        taken, first = _packed(server, limit, target, waiting, first, work, count, rounds)
        unplaced -= taken
    return servers_of_rounds(offline, np.asarray(rounds, dtype=np.int64))


def _packed(
    server: int,
    limit: int,
    target: int,
    waiting: list[int],
    first: int,
    work: list[int],
    count: list[int],
    rounds: list[tuple[int, int, int]],
) -> tuple[int, int]:
    """Fills one server; returns the work that it took and the first waiting type that has queries left."""
    taken, place = 0, first
    while taken < target and place < len(waiting):
        t = waiting[place]
        number = min(count[t], (limit - taken) // work[t])
        if number:
            rounds.append((t, server, number))
            count[t] -= number
            taken += number * work[t]
        if count[t] == 0 and place == first:
            first += 1
        place += 1
    return taken, first
