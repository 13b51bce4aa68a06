"""The algorithm for queries that read one source each: the fastest source into the roomiest server, again and again.

Every round ends a source or fills a server, so no more than m + k rounds are needed: with equal rates the traffic is
at most 1 + k/m times the least, and at most twice the least in general. Ties go to the lowest number.
"""

from __future__ import annotations

import heapq

import numpy as np

from whimbrel.model.errors import BadInput
from whimbrel.placement.instance import Integers
from whimbrel.placement.rounds import Offline, servers_of_rounds


def place_single_source(offline: Offline) -> Integers:
    """The server of every query. Raises BadInput unless every query reads exactly one source."""
    many = np.flatnonzero(offline.instance.degrees != 1)
    if many.size:
        raise BadInput(
            f"queries[{many[0]}] reads {offline.instance.degrees[many[0]]} sources: single-source needs queries that "
            "read one each; use ic, mms or partitioner"
        )
    work, count = offline.types.work.tolist(), offline.types.count.tolist()
    rates = offline.instance.rates[offline.types.sources]
    rounds: list[tuple[int, int, int]] = []
    roomiest = [(-limit, server) for server, limit in enumerate(offline.limits.tolist())]
    heapq.heapify(roomiest)
    for t in np.argsort(-rates, kind="stable").tolist():
        while count[t] and -roomiest[0][0] >= work[t]:
            free, server = -roomiest[0][0], roomiest[0][1]
            number = min(count[t], free // work[t])
            rounds.append((t, server, number))
            count[t] -= number
            heapq.heapreplace(roomiest, (number * work[t] - free, server))
    return servers_of_rounds(offline, np.asarray(rounds, dtype=np.int64))
