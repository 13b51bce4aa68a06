"""Pacing: which of the remaining moves share the next epoch.

Every pacing is a function of the remaining moves and, for ``budget``, of measured epochs; so whoever seals an
epoch can decide, and no controller has to stay alive for a migration to finish.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from whimbrel.migration.budget import next_size
from whimbrel.migration.facts import EpochFact
from whimbrel.model.errors import BadInput
from whimbrel.model.move import Move

NAMES = ("all-at-once", "fluid", "batched", "progressive", "optimized", "budget")


@dataclass(frozen=True, slots=True)
class Pacing:
    """A pacing with its settings.

    ``size``: bins per step (batched), arriving bins per slot and step (progressive), bins of the first step
    (budget). ``gap_epochs``: epochs without a move after each step, so that queued records drain (optimized: 1).
    ``p99_ms``: the budget.

    >>> Pacing.of("batched", size=8)
    Pacing(name='batched', size=8, gap_epochs=0, p99_ms=None)
    """

    name: str = "batched"
    size: int = 16
    gap_epochs: int = 0
    p99_ms: float | None = None

    @staticmethod
    def of(name: str, size: int | None = None, gap_epochs: int | None = None, p99_ms: float | None = None) -> Pacing:
        """The pacing with its defaults filled in; BadInput where the settings make no sense."""
        if name not in NAMES:
            raise BadInput(f"there is no pacing {name!r}: choose one of {', '.join(NAMES)}")
        default_size = {"batched": 16, "progressive": 4, "budget": 4}.get(name, 1)
        chosen = default_size if size is None else size
        if chosen < 1:
            raise BadInput(f"a step of {chosen} bins never ends: the size must be 1 or more")
        if name == "budget" and (p99_ms is None or p99_ms <= 0):
            raise BadInput('the budget pacing needs its budget, for example p99="2 seconds"')
        gap = (1 if name == "optimized" else 0) if gap_epochs is None else gap_epochs
        if gap < 0:
            raise BadInput(f"a gap of {gap} epochs is impossible: it must be 0 or more")
        return Pacing(name, chosen, gap, p99_ms if name == "budget" else None)

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data, as ``Pacing(**data)`` takes them."""
        return asdict(self)


def next_step(
    pacing: Pacing, remaining: Sequence[Move], size: float, facts: Sequence[EpochFact]
) -> tuple[tuple[Move, ...], float]:
    """The moves of the next step and the size to remember. Never empty while moves remain.

    ``size`` is what the last call returned (0 before the first).
    """
    if not remaining:
        return (), size
    if pacing.name == "all-at-once":
        return tuple(remaining), size
    if pacing.name == "progressive":
        return _progressive(remaining, pacing.size), size
    if pacing.name == "optimized":
        return matching_round(remaining), size
    if pacing.name == "budget":
        chosen = next_size(size, float(pacing.p99_ms or 0), facts) if size else float(pacing.size)
        return _interleaved(remaining)[: max(1, int(chosen))], chosen
    return _interleaved(remaining)[: pacing.size], size


def _progressive(remaining: Sequence[Move], per_slot: int) -> tuple[Move, ...]:
    arriving: Counter[int] = Counter()
    chosen = []
    for move in remaining:
        if arriving[move.target] < per_slot:
            arriving[move.target] += 1
            chosen.append(move)
    return tuple(chosen)


def _interleaved(remaining: Sequence[Move]) -> tuple[Move, ...]:
    """The moves in turn over their (source, target) pairs: a batch spreads over the slots, as work does."""
    queues: dict[tuple[int, int], list[Move]] = defaultdict(list)
    for move in remaining:
        queues[move.source, move.target].append(move)
    rounds = max(map(len, queues.values()))
    return tuple(queue[i] for i in range(rounds) for queue in queues.values() if i < len(queue))


def matching_round(remaining: Sequence[Move]) -> tuple[Move, ...]:
    """A largest set of moves in which every slot sends at most one bin and receives at most one."""
    import numpy as np
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    first: dict[tuple[int, int], Move] = {}
    for move in remaining:
        first.setdefault((move.source, move.target), move)
    slots = 1 + max(max(pair) for pair in first)
    sources, targets = np.array(list(first)).T
    graph = coo_matrix((np.ones(len(first)), (sources, targets)), shape=(slots, slots)).tocsr()
    matched = maximum_bipartite_matching(graph, perm_type="column")
    return tuple(first[source, int(target)] for source, target in enumerate(matched) if target >= 0)
