"""Consistent hashing: a ring of virtual nodes; a bin belongs to the next node on the ring.

Adding or removing a slot moves only the bins next to its nodes, which is little. Nothing balances the work, so the
busiest slot often carries twice the mean: read its cost beside its balance, never alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from whimbrel.model import Assignment, Load
from whimbrel.planning.stable_hash import stable_hash

VIRTUAL_NODES = 100


def ring_assignment(bins: int, slots: Iterable[int], seed: int = 0, virtual_nodes: int = VIRTUAL_NODES) -> Assignment:
    """The assignment that a ring with these slots gives. The same slots and seed always give the same ring.

    >>> before, after = ring_assignment(64, range(4)), ring_assignment(64, range(5))
    >>> {move.target for move in before.moves_to(after)}
    {4}
    """
    ids = np.fromiter(slots, np.uint64)
    nodes = np.repeat(ids, virtual_nodes)
    replicas = np.tile(np.arange(virtual_nodes, dtype=np.uint64), ids.size)
    points = stable_hash(nodes * np.uint64(1 << 32) + replicas, 2 * seed)
    order = np.argsort(points, kind="stable")
    places = stable_hash(np.arange(bins, dtype=np.uint64), 2 * seed + 1)
    following = np.searchsorted(points[order], places) % order.size
    return Assignment(tuple(nodes[order][following].tolist()))


@dataclass(frozen=True)
class RingAverage:
    """What rings with many seeds do on average: the state moved, and the busiest slot over the mean."""

    cost: float
    max_over_mean: float
    worst_max_over_mean: float


def average_over_rings(load: Load, old_slots: int, new_slots: int, seeds: int = 100) -> RingAverage:
    """Moves from the ring of ``old_slots`` to the ring of ``new_slots``, averaged over ``seeds`` rings."""
    work, state = np.asarray(load.work, float), np.asarray(load.state, float)
    costs, ratios = [], []
    for seed in range(seeds):
        before = np.asarray(ring_assignment(load.bins, range(old_slots), seed).owner)
        after = np.asarray(ring_assignment(load.bins, range(new_slots), seed).owner)
        costs.append(state[before != after].sum())
        ratios.append(np.bincount(after, work, new_slots).max() * new_slots / max(work.sum(), 1e-300))
    return RingAverage(float(np.mean(costs)), float(np.mean(ratios)), float(np.max(ratios)))
