"""Load per bin: work (rows or time per epoch) and state (bytes). The two are never confused.

Work decides balance; state decides what a move costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from whimbrel.model.errors import BadInput

Number = int | float


@dataclass(frozen=True, slots=True)
class Load:
    """``work[bin]`` and ``state[bin]``, both zero or more and finite, their sums too.

    >>> Load(work=(3, 1), state=(10, 20)).bins
    2
    """

    work: tuple[Number, ...]
    state: tuple[Number, ...]

    def __post_init__(self) -> None:
        if len(self.work) != len(self.state):
            raise BadInput(f"work has {len(self.work)} entries and state {len(self.state)}: give one of each per bin")
        _check_entries("work", self.work)
        _check_entries("state", self.state)

    @property
    def bins(self) -> int:
        """How many bins the load describes."""
        return len(self.work)


def _check_entries(name: str, values: Sequence[Number]) -> None:
    for b, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"{name}[{b}] is {value!r}: it must be a number")
        if not _is_finite(value) or value < 0:
            raise BadInput(f"{name}[{b}] is {str(value)[:30]}: it must be finite and zero or more")
    if not _is_finite(sum(values)):
        raise BadInput(f"{name} sums to more than a number can say: use a larger unit")


def _is_finite(value: Number) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
