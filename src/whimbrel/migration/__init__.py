"""How a plan becomes steps: pacing as pure decisions from observed facts. Knows moves, not Spark."""

from whimbrel.migration.facts import EpochFact
from whimbrel.migration.pacing import NAMES, Pacing, next_step

__all__ = ["NAMES", "EpochFact", "Pacing", "next_step"]
