"""The online algorithm that knows how popular the types are: it keeps places for them in advance.

An offline plan for the expected queries says how many places each server keeps for each type; it is made under the
limits that hold after the last arrival. A query takes one of the places kept for its type, on the server that has the
most of them left and has room under the limit for the work arrived so far; where there is none, it goes where it adds
the least traffic. In ``place`` the expected queries are those of the instance itself; for a law that is known they are
a draw of it, and those that arrive are another.
"""

from __future__ import annotations

import numpy as np

from whimbrel.placement.arrivals import Online
from whimbrel.placement.capacity import online_limits
from whimbrel.placement.greedy_arrivals import Reserved, place_greedily
from whimbrel.placement.instance import Integers, PlacementInstance
from whimbrel.placement.partitioner import Effort, place_by_partitioner
from whimbrel.placement.query_types import merge_types

_EFFORT = Effort(per_piece=100)


def plan_for_types(
    expected: PlacementInstance, rng: np.random.Generator, solver: str = "own", effort: Effort | None = None
) -> tuple[Integers, str]:
    """The server of every expected query, and the solver used. Raises CannotPlace where there is no room for them."""
    return place_by_partitioner(expected, rng, solver, effort or _EFFORT, online_limits(expected))


def place_by_known_types(online: Online, expected: PlacementInstance, plan: Integers) -> Integers:
    """The server of every arriving query; ``plan`` is the server of every expected one.

    Both instances have the same sources and servers.
    """
    arriving, servers = online.instance, online.instance.servers
    types = merge_types(expected.followed_by(arriving))
    planned, type_of = types.type_of[: expected.queries], types.type_of[expected.queries :]
    groups, places = np.unique(planned * servers + plan, return_counts=True)
    of_type, server = np.divmod(groups, servers)
    offsets = np.searchsorted(of_type, np.arange(types.types + 1))
    return place_greedily(online, weigh_traffic=False, reserved=Reserved(type_of, offsets, server, places))
