"""OffRand: a random type into a random server with room, as many of its queries as fit, until none is left."""

from __future__ import annotations

import numpy as np

from whimbrel.placement.instance import Integers
from whimbrel.placement.rounds import Offline, servers_of_rounds


def place_at_random_offline(offline: Offline, rng: np.random.Generator) -> Integers:
    """The server of every query. Raises NonePacked where unequal work leaves queries over."""
    work, count, free = offline.types.work, offline.types.count.tolist(), offline.limits.tolist()
    waiting, least = list(range(offline.types.types)), int(offline.types.work.min(initial=1))
    open_servers = [server for server, room in enumerate(free) if room >= least]
    rounds: list[tuple[int, int, int]] = []
    draws = iter(rng.random((offline.rounds_max, 2)).tolist())
    while waiting and open_servers:
        draw = next(draws)
        place = int(draw[0] * len(waiting))
        t = waiting[place]
        fitting = open_servers if least == work[t] else [s for s in open_servers if free[s] >= work[t]]
        if fitting:
            server = fitting[int(draw[1] * len(fitting))]
            number = min(count[t], free[server] // int(work[t]))
            rounds.append((t, server, number))
            count[t] -= number
            free[server] -= number * int(work[t])
            if free[server] < least:
                open_servers.remove(server)
        if count[t] == 0 or not fitting:
            waiting[place] = waiting[-1]
            waiting.pop()
    return servers_of_rounds(offline, np.asarray(rounds, dtype=np.int64))
