"""What a live run leaves behind: its epochs, its rescales, who owned what, and the audit.

An epoch belongs to exactly one phase: *during* while some rescale is in motion, *before* the first one, *after* else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

PHASES = ("before", "during", "after")


@dataclass(frozen=True, slots=True)
class EpochTime:
    """One committed epoch: when it began (seconds since the start of the run), how long it took, what it read."""

    number: int
    start_seconds: float
    duration_ms: float
    rows: int = 0

    @property
    def end_seconds(self) -> float:
        """When it was committed."""
        return self.start_seconds + self.duration_ms / 1000


@dataclass(frozen=True, slots=True)
class Rescale:
    """One plan carried out live, from its first step's epoch to the epoch that installed the last bin."""

    from_slots: int
    to_slots: int
    first_epoch: int
    last_epoch: int
    bins_moved: int
    bytes_moved: int
    """The state of the moved bins as it was measured when the plan was made."""
    bytes_at_least: int
    """The least that any plan of the planner's kind could have moved."""
    bytes_by_hash: int = 0
    """What hash % slots would have moved."""
    bytes_carried: int = 0
    """What really crossed, framing included; the state had grown by then."""

    @property
    def label(self) -> str:
        """As a person says it."""
        return f"{self.from_slots} → {self.to_slots} slots"


@dataclass(frozen=True, slots=True)
class Ownership:
    """Slot per bin at one moment, with the words that name the moment."""

    label: str
    owner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LiveRun:
    """Everything that the report page shows. ``audit`` is printed as it is; its ``ok`` decides the verdict."""

    title: str
    epochs: tuple[EpochTime, ...]
    rescales: tuple[Rescale, ...]
    owners: tuple[Ownership, ...]
    audit: Mapping[str, Any]

    def phase_of(self, epoch: int) -> str:
        """One of PHASES."""
        if any(rescale.first_epoch <= epoch <= rescale.last_epoch for rescale in self.rescales):
            return "during"
        first = min((rescale.first_epoch for rescale in self.rescales), default=math.inf)
        return "before" if epoch < first else "after"

    def epoch_ms(self) -> dict[str, dict[str, float]]:
        """p50, p99 and max of the epochs' durations for every phase that has epochs."""
        phases = {phase: [e.duration_ms for e in self.epochs if self.phase_of(e.number) == phase] for phase in PHASES}
        return {phase: spread(values) for phase, values in phases.items() if values}

    @property
    def silence_ms(self) -> float:
        """The longest time between two committed epochs."""
        ends = [epoch.end_seconds for epoch in self.epochs]
        return max(((b - a) * 1000 for a, b in pairwise(ends)), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "title": self.title,
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "rescales": [asdict(rescale) for rescale in self.rescales],
            "owners": [asdict(moment) for moment in self.owners],
            "audit": dict(self.audit),
            "epoch_ms": self.epoch_ms(),
            "silence_ms": self.silence_ms,
        }


def spread(values: Sequence[float]) -> dict[str, float]:
    """p50, p99 and max by nearest rank: always a value that was measured.

    >>> spread([30, 10, 20])
    {'p50': 20, 'p99': 30, 'max': 30}
    """
    ordered = sorted(values)
    return {"p50": _at_rank(ordered, 0.5), "p99": _at_rank(ordered, 0.99), "max": ordered[-1]}


def _at_rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]
