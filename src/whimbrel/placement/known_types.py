"""The online algorithm that knows how popular the types are: it keeps places for them in advance.

An offline plan for the expected numbers of queries says how many places each server keeps for each type. A query
takes one of the places kept for its type, on the server that has the most of them left and has room under the limit
for the work arrived so far; where there is none, it goes where it adds the least traffic. In ``place`` the expected
numbers are those of the instance itself.
"""

from __future__ import annotations

import numpy as np

from whimbrel.placement.arrivals import Online
from whimbrel.placement.greedy_arrivals import Reserved, place_greedily
from whimbrel.placement.instance import Integers
from whimbrel.placement.query_types import QueryTypes


def place_by_known_types(online: Online, types: QueryTypes, plan: Integers) -> Integers:
    """The server of every query; ``plan`` is the server of every query in the offline plan."""
    servers = online.instance.servers
    groups, counts = np.unique(types.type_of * servers + plan, return_counts=True)
    of_type, server = np.divmod(groups, servers)
    offsets = np.searchsorted(of_type, np.arange(types.types + 1))
    return place_greedily(online, weigh_traffic=False, reserved=Reserved(types.type_of, offsets, server, counts))
