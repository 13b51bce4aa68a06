"""The last resort for unequal work: the heaviest queries first, each into the fullest server that still has room.

Best fit, decreasing: it knows nothing of traffic, but it fits queries that the others leave over.
"""

from __future__ import annotations

import bisect

import numpy as np

from whimbrel.placement.errors import NonePacked
from whimbrel.placement.instance import Integers, PlacementInstance


def place_heaviest_first(instance: PlacementInstance, limits: Integers) -> Integers:
    """The server of every query. Raises NonePacked where a query fits nowhere any more."""
    found = np.empty(instance.queries, dtype=np.int64)
    rooms = sorted((int(limit), server) for server, limit in enumerate(limits.tolist()))
    for q in np.argsort(-instance.work, kind="stable").tolist():
        work = int(instance.work[q])
        place = bisect.bisect_left(rooms, (work, -1))
        if place == len(rooms):
            raise NonePacked(
                f"packing the heaviest queries first left query {q}, which brings {work} units of work, and no server "
                "has that much room left: raise nu (it is not proved that no other packing fits)"
            )
        room, server = rooms.pop(place)
        found[q] = server
        bisect.insort(rooms, (room - work, server))
    return found
