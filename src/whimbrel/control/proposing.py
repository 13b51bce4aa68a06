"""A plan for a job, from its measured load and its present assignment."""

from __future__ import annotations

from typing import Any

from whimbrel.control.board import Board
from whimbrel.model.errors import BadInput
from whimbrel.model.plan import Plan
from whimbrel.planning import plan as make_plan


def propose(board: Board, slots: int | None, planner: str, tau: float, epochs: int, **options: Any) -> Plan:
    """What ``planner`` would do for ``slots`` slots (the present number by default). Posts nothing."""
    current = board.assignment()
    wanted = len(current.active_slots) if slots is None else slots
    if not 1 <= wanted <= board.settings.max_slots:
        raise BadInput(f"slots is {wanted}: this job can have 1 to {board.settings.max_slots} (max_slots)")
    return make_plan(planner, board.load(epochs), current, wanted, tau, **options)
