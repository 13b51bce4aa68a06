"""A move: one bin from one slot to another."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True)
class Move:
    """One bin's journey. ``source`` and ``target`` always differ.

    >>> Move(bin=3, source=0, target=1)
    Move(bin=3, source=0, target=1)
    """

    bin: int
    source: int
    target: int

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise ValueError(f"bin {self.bin} cannot move from slot {self.source} to itself")
