"""A seal fixes one epoch: which assignment routes its rows, and which moves leave at its end.

Written by put-if-absent by the first router task that arrives, read by all others. A replayed epoch finds the
seal of its first run, so a replay routes, exports and installs exactly as the first run did.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from whimbrel.model.move import Move


@dataclass(frozen=True, slots=True)
class Step:
    """Moves that share an epoch. Numbers count from 1 over the life of a job; 0 means "no step"."""

    number: int = 0
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a plan (or rollback) ended: "done" or "cancelled", after so many steps."""

    plan: int
    how: str
    steps: int


@dataclass(frozen=True, slots=True)
class Seal:
    """The facts of one epoch. ``assignment`` names, by digest, the map in force while the epoch's rows are routed.

    ``leaving`` moves are exported at the end of this epoch, ``arriving`` ones (sealed one epoch earlier) are
    installed before this epoch's rows, ``releasing`` ones (two epochs earlier) are forgotten by their old slot.
    """

    epoch: int
    assignment: str
    next_assignment: str
    leaving: Step = Step()
    arriving: Step = Step()
    releasing: Step = Step()
    steps_sealed: int = 0
    plan: int = 0
    plan_began_at: str = ""
    """The assignment (digest) at which the newest plan that has moved anything began."""
    plan_steps: int = 0
    """How many steps the plan in progress has sealed."""
    rollback_to: str = ""
    """The assignment (digest) to which the newest rollback leads."""
    waiting: tuple[int, ...] = ()
    log_read: int = 0
    paused: bool = False
    gap_left: int = 0
    batch_size: float = 0.0
    generation: int = 0
    query_id: str = ""
    sealed_at_ms: int = 0
    retired: tuple[Ending, ...] = field(default=())
    """The plans that ended with this seal."""

    @property
    def settled(self) -> bool:
        """Whether nothing is under way: no plan, and no bytes between two slots."""
        return not (self.plan or self.waiting or self.leaving.moves or self.arriving.moves or self.releasing.moves)

    @property
    def wants_epoch(self) -> bool:
        """Whether the job wants the next epoch even if no row comes. A pause counts as rest; bytes under way do not.

        Every heartbeat asks this of the same seal, so where it holds every operator runs in the next epoch.
        """
        travelling = self.leaving.moves or self.arriving.moves or self.releasing.moves
        return bool(travelling) or (bool(self.plan or self.waiting) and not self.paused)

    def stamped(self, generation: int, query_id: str, sealed_at_ms: int) -> Seal:
        """This decision, signed by the task that writes it."""
        return replace(self, generation=generation, query_id=query_id, sealed_at_ms=sealed_at_ms)


def encode_seal(seal: Seal) -> bytes:
    """The seal as JSON; moves as triples."""
    fields = asdict(seal) | {"retired": [[e.plan, e.how, e.steps] for e in seal.retired]}
    for name in ("leaving", "arriving", "releasing"):
        step: Step = getattr(seal, name)
        fields[name] = [step.number, [[m.bin, m.source, m.target] for m in step.moves]]
    return json.dumps(fields).encode()


def decode_seal(data: bytes) -> Seal:
    """The seal that ``encode_seal`` wrote."""
    fields: dict[str, Any] = json.loads(data)
    for name in ("leaving", "arriving", "releasing"):
        number, moves = fields[name]
        fields[name] = Step(number, tuple(Move(*m) for m in moves))
    fields["waiting"] = tuple(fields["waiting"])
    fields["retired"] = tuple(Ending(*ending) for ending in fields["retired"])
    return Seal(**fields)
