"""What the offline algorithms have in common: they work on types, in rounds, and the rounds become a placement.

A round gives ``count`` queries of one type to one server. Queries of a type take the servers of its rounds in
arrival order, so that the same rounds always make the same placement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whimbrel.model.errors import BadInput
from whimbrel.placement.capacity import offline_limits, require_room
from whimbrel.placement.errors import NonePacked
from whimbrel.placement.instance import Integers, PlacementInstance
from whimbrel.placement.query_types import QueryTypes, merge_types

TYPE_ORDERS = ("larger-first", "by-sources", "rarest-first", "arrival", "random")
"""Which of two types that cost the same goes first. It decides 5 to 40 % of the traffic, so it is an option."""


@dataclass(frozen=True, eq=False)
class Offline:
    """An instance prepared for an offline algorithm: its types, their ranks (lower goes first) and the limits."""

    instance: PlacementInstance
    types: QueryTypes
    rank: Integers
    limits: Integers

    @property
    def rounds_max(self) -> int:
        """No algorithm needs more rounds: each ends a type, or ends the room of a server for an amount of work."""
        return self.types.types + self.instance.servers * len(np.unique(self.types.work)) + 1


def prepare(instance: PlacementInstance, order: str, rng: np.random.Generator) -> Offline:
    """Types and limits of an instance; raises CannotPlace where there is no room and BadInput for unknown orders."""
    limits = offline_limits(instance)
    require_room(instance, limits)
    types = merge_types(instance)
    return Offline(instance, types, type_ranks(types, order, rng), limits)


def type_ranks(types: QueryTypes, order: str, rng: np.random.Generator) -> Integers:
    """The rank of every type under an order.

    ``larger-first``: by work, then by source numbers. ``by-sources``: by source numbers, as words in a dictionary.
    ``rarest-first``: by the fewest types that one of its sources has, then by source numbers, so that the types of a
    rare source stay together. ``arrival``: by first arrival. ``random``: drawn from ``rng``.
    """
    if order == "arrival":
        return np.arange(types.types)
    if order == "random":
        return rng.permutation(types.types)
    dictionary = _dictionary_ranks(types)
    if order == "by-sources":
        return dictionary
    if order == "larger-first":
        return _ranks_of(np.lexsort((dictionary, -types.count * types.work)))
    if order == "rarest-first":
        readers = np.bincount(types.sources)[types.sources]
        rarest = np.minimum.reduceat(readers, types.offsets[:-1]) if types.types else readers
        return _ranks_of(np.lexsort((dictionary, rarest)))
    raise BadInput(f"there is no type order '{order}': use one of {', '.join(TYPE_ORDERS)}")


def _ranks_of(order: Integers) -> Integers:
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _dictionary_ranks(types: QueryTypes) -> Integers:
    """Ranks by (sources, work); a row that another one continues comes first."""
    degrees = np.diff(types.offsets)
    columns = [types.work]
    for place in range(int(degrees.max(initial=0)) - 1, -1, -1):
        column = np.full(types.types, -1, dtype=np.int64)
        longer = np.flatnonzero(degrees > place)
        column[longer] = types.sources[types.offsets[longer] + place]
        columns.append(column)
    return _ranks_of(np.lexsort(columns))


def servers_of_rounds(offline: Offline, rounds: Integers) -> Integers:
    """The server of every query after rounds of (type, server, queries); NonePacked where queries are left over."""
    types, servers, counts = rounds.reshape(-1, 3).T
    placed = np.bincount(types, weights=counts, minlength=offline.types.types).astype(np.int64)
    left = int((offline.types.count - placed).sum())
    if left:
        raise NonePacked(
            f"{left} of {offline.instance.queries} queries fit on no server any more: their work is too large for the "
            "room that is left; raise nu"
        )
    by_type = np.argsort(types, kind="stable")
    found = np.empty(offline.instance.queries, dtype=np.int64)
    found[offline.types.members] = np.repeat(servers[by_type], counts[by_type])
    return found
