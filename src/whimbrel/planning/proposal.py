"""What one algorithm answers, before it becomes a Plan: a target or a reason, and a bound on what it could cost."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.model import Assignment
from whimbrel.model.load import Number


@dataclass(frozen=True)
class Proposal:
    """``target`` is None where the planner cannot keep the limit; then ``reason`` says why.

    ``lower_bound`` holds for every plan of the same kind that is at least as balanced as this one.
    """

    target: Assignment | None
    lower_bound: Number = 0
    reason: str = ""
    smallest_tau: float | None = None
    projected_cost: float | None = None
