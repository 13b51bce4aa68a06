"""The words of Whimbrel as small frozen types: what every room speaks, and nothing else."""

from whimbrel.model.assignment import Assignment
from whimbrel.model.errors import (
    BadInput,
    Damaged,
    JobInUse,
    JobMismatch,
    OperatorFailed,
    ReplayDiffers,
    StaleDriver,
    Stalled,
    WhimbrelError,
)
from whimbrel.model.ids import Bin, Epoch, Generation, Slot
from whimbrel.model.limit import Limit
from whimbrel.model.load import Load
from whimbrel.model.move import Move
from whimbrel.model.plan import Plan

__all__ = [
    "Assignment",
    "BadInput",
    "Bin",
    "Damaged",
    "Epoch",
    "Generation",
    "JobInUse",
    "JobMismatch",
    "Limit",
    "Load",
    "Move",
    "OperatorFailed",
    "Plan",
    "ReplayDiffers",
    "Slot",
    "StaleDriver",
    "Stalled",
    "WhimbrelError",
]
