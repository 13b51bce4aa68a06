"""The best offline placement that we have: a good start, then simulated annealing over pieces of types.

The start is ``mtkahypar``'s partition where that package is installed and asked for, and IC with rare sources first
otherwise. The annealing is ours in both cases. The effort is counted in proposals, not in seconds, so that a seed
gives the same placement on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whimbrel.model.errors import BadInput
from whimbrel.placement import hypergraph
from whimbrel.placement.annealing import anneal
from whimbrel.placement.capacity import offline_limits, require_room
from whimbrel.placement.errors import NonePacked
from whimbrel.placement.first_fit import place_heaviest_first
from whimbrel.placement.incremental_cost import place_by_incremental_cost
from whimbrel.placement.instance import Integers, PlacementInstance
from whimbrel.placement.pieces import Pieces, cut_into_pieces
from whimbrel.placement.query_types import QueryTypes, merge_types
from whimbrel.placement.randomness import first_state
from whimbrel.placement.repair import repaired
from whimbrel.placement.rounds import Offline, type_ranks

SOLVERS = ("auto", "own", "mtkahypar")
"""Where the start comes from; ``auto`` is mtkahypar where it is installed."""


@dataclass(frozen=True)
class Effort:
    """How long and how hot to anneal: ``per_piece`` proposals for each piece, between ``least`` and ``most`` in all.

    The first ``smooth_share`` of them go by a smoother weight than the traffic (``annealing``).
    """

    per_piece: int = 520
    least: int = 20_000
    most: int = 72_000_000
    hot: float = 0.3
    cold: float = 0.08
    smooth_share: float = 0.7

    def proposals(self, pieces: int) -> int:
        """How many proposals so many pieces get."""
        return max(self.least, min(self.most, self.per_piece * pieces))


EFFORTS = {"own": Effort(), "mtkahypar": Effort(per_piece=200, hot=0.1, cold=0.05, smooth_share=0.0)}
"""How to anneal after each start: a partition is near its best already, and much heat would only spoil it."""


def place_by_partitioner(
    instance: PlacementInstance,
    rng: np.random.Generator,
    solver: str = "auto",
    effort: Effort | None = None,
    limits: Integers | None = None,
) -> tuple[Integers, str]:
    """The server of every query and the solver that made the start.

    ``limits`` are those of an offline algorithm unless given. Raises CannotPlace where they leave no room, and
    NonePacked where unequal work was left over.
    """
    limits = offline_limits(instance) if limits is None else limits
    require_room(instance, limits)
    types = merge_types(instance)
    used = _solver_named(solver)
    pieces, server, used = _start(instance, types, limits, rng, used)
    effort = effort or EFFORTS[used]
    if len(pieces.weight):
        server = anneal(
            pieces, instance.rates, limits, server, effort.proposals(len(pieces.weight)), effort.hot, effort.cold,
            effort.smooth_share, first_state(rng),
        )  # fmt: skip
    return pieces.servers_of_queries(server), used


def _solver_named(solver: str) -> str:
    if solver not in SOLVERS:
        raise BadInput(f"there is no solver '{solver}': use one of {', '.join(SOLVERS)}")
    if solver == "mtkahypar" and not hypergraph.is_installed():
        raise BadInput("mtkahypar is not installed: install whimbrel[partitioner] or use the solver 'own'")
    return ("mtkahypar" if hypergraph.is_installed() else "own") if solver == "auto" else solver


def _start(
    instance: PlacementInstance, types: QueryTypes, limits: Integers, rng: np.random.Generator, solver: str
) -> tuple[Pieces, Integers, str]:
    known = len(instance.rates)
    if solver == "mtkahypar" and instance.servers > 1 and types.types > 1:
        pieces, _ = cut_into_pieces(types, limits, known)
        blocks = hypergraph.partition(pieces, instance.rates, limits, int(rng.integers(0, 2**31)))
        fitted = repaired(pieces, instance.rates, limits, blocks)
        if fitted is not None:
            return pieces, fitted, solver
    offline = Offline(instance, types, type_ranks(types, "rarest-first", rng), limits)
    try:
        start = place_by_incremental_cost(offline)
    except NonePacked:
        start = place_heaviest_first(instance, limits)
    pieces, server = cut_into_pieces(types, limits, known, start)
    return pieces, server, "own"
