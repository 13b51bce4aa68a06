"""Query types: queries that read the same sources and bring the same work are interchangeable.

Merging them loses nothing (which of two equal queries sits where changes neither cost nor balance) and shrinks heavy
tails by orders of magnitude. Types are numbered by first arrival; members of a type stay in arrival order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whimbrel.placement.instance import Integers, PlacementInstance


@dataclass(frozen=True, eq=False)
class QueryTypes:
    """Type ``t`` reads ``sources[offsets[t]:offsets[t + 1]]``, brings ``work[t]`` per query and has ``count[t]``.

    ``members`` lists all queries type by type; ``type_of[q]`` is the type of query ``q``.
    """

    offsets: Integers
    sources: Integers
    work: Integers
    count: Integers
    type_of: Integers
    members: Integers

    @property
    def types(self) -> int:
        """How many distinct types there are."""
        return len(self.count)


def merge_types(instance: PlacementInstance) -> QueryTypes:
    """The types of an instance."""
    group_of = _uniform_groups(instance) if _is_rectangular(instance) else _ragged_groups(instance)
    groups, first = np.unique(group_of, return_index=True)
    number = np.empty(len(groups), dtype=np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(len(groups))
    type_of = number[group_of]
    representatives = np.sort(first)
    degrees = instance.degrees[representatives]
    offsets = np.concatenate(([0], np.cumsum(degrees))).astype(np.int64)
    starts = np.repeat(instance.offsets[representatives] - offsets[:-1], degrees)
    return QueryTypes(
        offsets=offsets,
        sources=instance.sources[starts + np.arange(offsets[-1])],
        work=instance.work[representatives],
        count=np.bincount(type_of, minlength=len(groups)).astype(np.int64),
        type_of=type_of,
        members=np.argsort(type_of, kind="stable"),
    )


def readers_of(offsets: Integers, sources: Integers, known: int) -> tuple[Integers, Integers]:
    """The transposed rows: reader ``r`` of source ``s`` for every entry, as (offsets, readers), readers ascending."""
    reader = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.argsort(sources, kind="stable")
    counts = np.bincount(sources, minlength=known)
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64), reader[order]


def _is_rectangular(instance: PlacementInstance) -> bool:
    return instance.queries > 0 and bool((instance.degrees == instance.degree_max).all())


def _uniform_groups(instance: PlacementInstance) -> Integers:
    rows = instance.sources.reshape(instance.queries, instance.degree_max)
    order = np.lexsort((instance.work, *rows.T))
    ordered, work = rows[order], instance.work[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1) | (work[1:] != work[:-1])
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.cumsum(new) - 1
    return groups


def _ragged_groups(instance: PlacementInstance) -> Integers:
    seen: dict[tuple[bytes, int], int] = {}
    flat, offsets, work = instance.sources, instance.offsets.tolist(), instance.work.tolist()
    groups = np.empty(instance.queries, dtype=np.int64)
    for q in range(instance.queries):
        key = (flat[offsets[q] : offsets[q + 1]].tobytes(), work[q])
        groups[q] = seen.setdefault(key, len(seen))
    return groups
