"""What the local search moves: pieces of query types, small enough to fill a server exactly.

A piece is some queries of one type. Given a placement, the queries of a type on one server are a piece, cut further
where they bring more than a sixteenth of the largest limit. Pieces move as a whole, so the search loses nothing but
the choice of where to cut, and heavy tails shrink by orders of magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whimbrel.placement.instance import Integers
from whimbrel.placement.query_types import QueryTypes, readers_of

_PIECES_PER_SERVER = 16


@dataclass(frozen=True, eq=False)
class Pieces:
    """Piece ``v`` reads ``sources[offsets[v]:offsets[v + 1]]`` and brings ``weight[v]`` work in ``count[v]`` queries.

    ``readers[reader_offsets[s]:reader_offsets[s + 1]]`` are the pieces that read source ``s``; ``members`` lists all
    queries piece by piece.
    """

    offsets: Integers
    sources: Integers
    weight: Integers
    count: Integers
    reader_offsets: Integers
    readers: Integers
    members: Integers

    def servers_of_queries(self, server: Integers) -> Integers:
        """The server of every query, given the server of every piece."""
        found = np.empty(len(self.members), dtype=np.int64)
        found[self.members] = np.repeat(server, self.count)
        return found


def cut_into_pieces(
    types: QueryTypes, limits: Integers, known: int, server: Integers | None = None
) -> tuple[Pieces, Integers]:
    """The pieces and their servers under the placement ``server`` (all on server 0 without one).

    ``known`` is the number of sources.
    """
    servers = len(limits)
    key = types.type_of * servers + (0 if server is None else server)
    members = np.argsort(key, kind="stable")
    groups, sizes = np.unique(key[members], return_counts=True)
    group_type, group_server = np.divmod(groups, servers)
    largest = np.maximum(1, int(limits.max()) // _PIECES_PER_SERVER // types.work[group_type])
    cuts = -(-sizes // largest)
    group = np.repeat(np.arange(len(groups)), cuts)
    number = np.arange(len(group)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    share, longer = np.divmod(sizes, cuts)
    count = share[group] + (number < longer[group])
    return _rows(types, group_type[group], count, members, known), group_server[group]


def _rows(types: QueryTypes, type_of: Integers, count: Integers, members: Integers, known: int) -> Pieces:
    degrees = np.diff(types.offsets)[type_of]
    offsets = np.concatenate(([0], np.cumsum(degrees))).astype(np.int64)
    starts = np.repeat(types.offsets[type_of] - offsets[:-1], degrees)
    sources = types.sources[starts + np.arange(offsets[-1])]
    reader_offsets, readers = readers_of(offsets, sources, known)
    return Pieces(offsets, sources, count * types.work[type_of], count, reader_offsets, readers, members)
