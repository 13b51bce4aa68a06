"""An assignment: bin -> slot, total over the bins of a job. Never mutated; every change makes a new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whimbrel.model.errors import BadInput
from whimbrel.model.move import Move

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Assignment:
    """``owner[bin]`` is the slot that owns the bin; every bin has exactly one owner.

    >>> Assignment.even(bins=5, slots=2).intervals(2)
    ((0, 3), (3, 5))
    """

    owner: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(slot < 0 for slot in self.owner):
            bad = next(b for b, slot in enumerate(self.owner) if slot < 0)
            raise BadInput(f"bin {bad} is assigned to slot {self.owner[bad]}: slots count from 0")

    @staticmethod
    def even(bins: int, slots: int) -> Assignment:
        """Contiguous intervals whose counts differ by at most one, the longer ones first."""
        if slots < 1:
            raise BadInput(f"{slots} slots cannot hold anything: name at least one")
        size, longer = divmod(bins, slots)
        return Assignment(tuple(s for s in range(slots) for _ in range(size + (s < longer))))

    @staticmethod
    def from_intervals(intervals: Sequence[Interval], bins: int) -> Assignment:
        """The assignment in which slot i owns the half-open interval ``intervals[i]``.

        Raises BadInput unless the intervals cover each bin exactly once; empty ones ([x, x)) are welcome.
        """
        owner = [-1] * bins
        for slot, (lower, upper) in enumerate(intervals):
            if not 0 <= lower <= upper <= bins:
                raise BadInput(f"interval {slot} is [{lower}, {upper}): it must lie within [0, {bins}]")
            for b in range(lower, upper):
                if owner[b] >= 0:
                    raise BadInput(
                        f"bin {b} lies in interval {owner[b]} and in interval {slot}: intervals must not overlap"
                    )
                owner[b] = slot
        if -1 in owner:
            raise BadInput(f"bin {owner.index(-1)} lies in no interval: the intervals must cover all {bins} bins")
        return Assignment(tuple(owner))

    @property
    def bins(self) -> int:
        """How many bins the job has."""
        return len(self.owner)

    @property
    def active_slots(self) -> tuple[int, ...]:
        """The slots that own at least one bin, ascending."""
        return tuple(sorted(set(self.owner)))

    def bins_of(self, slot: int) -> tuple[int, ...]:
        """The bins that ``slot`` owns, ascending."""
        return tuple(b for b, s in enumerate(self.owner) if s == slot)

    def intervals(self, slots: int) -> tuple[Interval, ...] | None:
        """One half-open interval for each of ``slots`` slots, or None where some slot's bins are not contiguous."""
        found: list[Interval | None] = [None] * max(slots, max(self.owner, default=-1) + 1)
        for b, slot in enumerate(self.owner):
            last = found[slot]
            if last is not None and last[1] != b:
                return None
            found[slot] = (b if last is None else last[0], b + 1)
        return tuple(interval if interval is not None else (0, 0) for interval in found)

    def moves_to(self, target: Assignment) -> tuple[Move, ...]:
        """The moves that lead from here to ``target``, by bin."""
        if target.bins != self.bins:
            raise BadInput(f"the target has {target.bins} bins and the assignment {self.bins}: a job's bins are fixed")
        pairs = zip(self.owner, target.owner, strict=True)
        return tuple(Move(b, old, new) for b, (old, new) in enumerate(pairs) if old != new)

    def apply(self, moves: Iterable[Move]) -> Assignment:
        """This assignment after ``moves``. Raises BadInput where a move's source does not own the bin."""
        owner = list(self.owner)
        for move in moves:
            if not 0 <= move.bin < len(owner):
                raise BadInput(f"there is no bin {move.bin}: this job has bins 0 to {len(owner) - 1}")
            if owner[move.bin] != move.source:
                raise BadInput(f"bin {move.bin} is owned by slot {owner[move.bin]}, not by slot {move.source}")
            owner[move.bin] = move.target
        return Assignment(tuple(owner))
