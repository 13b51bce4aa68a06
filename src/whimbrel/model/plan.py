"""A plan: a target assignment with its cost, its lower bound and the balance that it reaches."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.model.assignment import Assignment, Interval
from whimbrel.model.load import Number


@dataclass(frozen=True, slots=True)
class Plan:
    """What should move where. ``target`` is None exactly when ``feasible`` is False.

    All costs are in the unit of ``state``; ``cost + gain`` is the whole state. ``lower_bound`` holds for every
    plan of the planner's own kind (contiguous or any map); ``hash_cost`` is what hash % N would have moved.
    ``limits`` says what each slot may carry where capacities differ; without them every slot has ``limit``.
    """

    planner: str
    feasible: bool
    slots: int
    tau: float
    current: Assignment
    target: Assignment | None
    cost: Number
    gain: Number
    lower_bound: Number
    limit: float
    max_load: Number
    hash_cost: Number
    seconds: float
    reason: str = ""
    smallest_tau: float | None = None
    projected_cost: float | None = None
    limits: tuple[float, ...] = ()

    @property
    def moves(self) -> int:
        """How many bins change their slot."""
        return 0 if self.target is None else len(self.current.moves_to(self.target))

    @property
    def intervals(self) -> tuple[Interval, ...] | None:
        """One interval per slot, max(old, new) of them, where the target is contiguous."""
        if self.target is None:
            return None
        return self.target.intervals(max(self.slots, max(self.current.owner, default=-1) + 1))
