"""What a pacing may know: how long the last epochs took and how much they moved."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EpochFact:
    """One finished epoch: its length, and how many bins left or arrived in it."""

    epoch: int
    duration_ms: float
    bins_moving: int
