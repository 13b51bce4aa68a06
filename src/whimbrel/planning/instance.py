"""A planning question in whole numbers: what every planner of this room starts from.

Loads arrive as integers or floats. Floats are read as the shortest decimals that print them, scaled to integers by
their common denominator, and compared with the limit exactly. Where the scaled work does not fit 62 bits, Python's
own integers take over; where the scaled state does not, state is rounded to a grid of 2^-60 of its total, which can
only change which of two equally good plans wins, never the cost that is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from whimbrel.model import Assignment, BadInput, Limit, Load
from whimbrel.model.limit import exact
from whimbrel.model.load import Number

Integers = NDArray[np.int64]

WIDEST = 1 << 60
"""Totals up to here are safe to add and compare in 64 bits."""

SLOTS_MAX = 1 << 22
"""More slots than any job has: a larger number is a mistake, not a question."""


@dataclass(frozen=True)
class Instance:
    """One question: this load, here now, to so many slots at this imbalance.

    ``given_up`` slots must end empty. ``capacities`` says how much each slot can take beside a slot of capacity 1.
    ``current_slots`` counts trailing slots that are empty now; ``fixed_limit`` replaces the limit of tau.

    >>> asked = Instance(Load(work=(2, 2, 3), state=(1, 1, 1)), Assignment((0, 0, 1)), slots=3, tau=0.2)
    >>> asked.limit.value, asked.whole_limit, asked.boundaries.tolist(), asked.slot_ids
    (Fraction(14, 5), 2, [0, 2, 3], (0, 1))
    """

    load: Load
    current: Assignment
    slots: int
    tau: float | str
    given_up: frozenset[int] = frozenset()
    capacities: tuple[Fraction, ...] = ()
    current_slots: int = 0
    fixed_limit: Fraction | None = None

    def __post_init__(self) -> None:
        if self.load.bins != self.current.bins:
            raise BadInput(
                f"the load has {self.load.bins} bins and the assignment {self.current.bins}: they must agree"
            )
        if self.load.bins == 0:
            raise BadInput("there are no bins: a plan needs at least one")
        if not 1 <= self.slots <= SLOTS_MAX:
            raise BadInput(f"slots is {self.slots}: name at least one and at most {SLOTS_MAX}")
        if self.old_slots > SLOTS_MAX:
            raise BadInput(f"the assignment names slot {self.old_slots - 1}: slots count from 0 to {SLOTS_MAX - 1}")
        if not math.isfinite(float(self.tau)) or float(self.tau) < 0:
            raise BadInput(f"tau is {self.tau}: it must be a number, zero or more")
        if any(slot < 0 for slot in self.given_up):
            raise BadInput(f"slot {min(self.given_up)} cannot be given up: slots count from 0")
        refuse_totals_beyond_floats(self.load, float(self.tau))

    @cached_property
    def scaled_work(self) -> tuple[list[int], int]:
        """(work as integers, what they were multiplied by)."""
        return scaled(self.load.work)

    @cached_property
    def scaled_state(self) -> tuple[list[int], int]:
        """(state as integers, what it was multiplied by), exact."""
        return scaled(self.load.state)

    @cached_property
    def total_work(self) -> Fraction:
        """All work, exactly."""
        values, scale = self.scaled_work
        return Fraction(sum(values), scale)

    @cached_property
    def total_state(self) -> Number:
        """All state, in the unit it came in."""
        values, scale = self.scaled_state
        return plain(Fraction(sum(values), scale))

    @cached_property
    def limit(self) -> Limit:
        """The most work that a slot may carry where all capacities are equal."""
        if self.fixed_limit is not None:
            return Limit(self.fixed_limit)
        return Limit(Limit.of([1], self.slots, self.tau).value * self.total_work)

    @cached_property
    def whole_limit(self) -> int:
        """The limit in the unit of the scaled work, rounded down: whole numbers keep the one as they keep the other."""
        values, scale = self.scaled_work
        return min(math.floor(self.limit.value * scale), sum(values))

    @cached_property
    def intervals_in_order(self) -> tuple[tuple[int, int, int], ...]:
        """(lower, upper, slot) of the current intervals that are not empty, by position.

        Raises BadInput where some slot's bins are not contiguous.
        """
        owner = np.asarray(self.current.owner, np.int64)
        cuts = np.flatnonzero(np.diff(owner)) + 1
        edges = [0, *cuts.tolist(), owner.size]
        found = tuple((lower, upper, int(owner[lower])) for lower, upper in pairwise(edges))
        if len({slot for _, _, slot in found}) < len(found):
            raise BadInput(
                "the current assignment is not contiguous: this planner works on intervals; use planner any-map"
            )
        return found

    @property
    def is_contiguous(self) -> bool:
        """Whether every slot's bins are contiguous now."""
        return self.current.intervals(0) is not None

    @property
    def boundaries(self) -> Integers:
        """The positions between the current intervals, with 0 and m."""
        return np.array([lower for lower, _, _ in self.intervals_in_order] + [self.load.bins], np.int64)

    @property
    def slot_ids(self) -> tuple[int, ...]:
        """The slot of each current interval, by position."""
        return tuple(slot for _, _, slot in self.intervals_in_order)

    @cached_property
    def old_slots(self) -> int:
        """How many slots the job has now, counting empty ones that the caller named."""
        return max(self.current_slots, max(self.current.owner) + 1)

    @cached_property
    def usable_slots(self) -> tuple[int, ...]:
        """The slots that a plan may use, ascending: the old and the new ones, with others for those given up."""
        wanted = max(self.slots, self.old_slots)
        ids = [slot for slot in range(wanted) if slot not in self.given_up]
        spare = wanted
        while len(ids) < self.slots:
            if spare not in self.given_up:
                ids.append(spare)
            spare += 1
        return tuple(ids)

    @cached_property
    def bins_by_slot(self) -> dict[int, list[int]]:
        """The bins that each slot owns now, ascending."""
        bins: dict[int, list[int]] = {}
        for b, slot in enumerate(self.current.owner):
            bins.setdefault(slot, []).append(b)
        return bins

    @cached_property
    def keepable_state(self) -> Integers:
        """State per bin as 64-bit integers, zero where the bin's slot must be given up."""
        state = self.whole_state.copy()
        if self.given_up:
            state[np.isin(np.asarray(self.current.owner), sorted(self.given_up))] = 0
        return state

    @cached_property
    def whole_state(self) -> Integers:
        """State per bin as 64-bit integers (see the header for totals that do not fit)."""
        values, _ = self.scaled_state
        total = sum(values)
        if total > WIDEST:
            values = [value * WIDEST // total for value in values]
        return np.array(values, np.int64)

    @cached_property
    def whole_work(self) -> Integers | None:
        """Work per bin as 64-bit integers, or None where it does not fit."""
        values, _ = self.scaled_work
        return np.array(values, np.int64) if sum(values) <= WIDEST else None

    def cost_of(self, target: Assignment) -> Number:
        """The state that changes its slot, exactly."""
        values, scale = self.scaled_state
        pairs = zip(values, self.current.owner, target.owner, strict=True)
        return plain(Fraction(sum(value for value, old, new in pairs if old != new), scale))

    def work_by_slot(self, target: Assignment) -> dict[int, Fraction]:
        """Work per slot that owns something, exactly."""
        values, scale = self.scaled_work
        sums: dict[int, int] = {}
        for value, slot in zip(values, target.owner, strict=True):
            sums[slot] = sums.get(slot, 0) + value
        return {slot: Fraction(total, scale) for slot, total in sums.items()}

    def limit_of(self, slot: int) -> Fraction:
        """The most work that this slot may carry: the limit in proportion to its capacity.

        With capacities, the total is shared over the ``slots`` largest capacities that a plan may use, so that
        tau = 0 means work in exact proportion. A slot without a stated capacity has capacity 1.
        """
        if not self.capacities:
            return self.limit.value
        largest = sorted((self.capacity_of(other) for other in self.usable_slots), reverse=True)[: self.slots]
        return self.limit.value * self.slots * self.capacity_of(slot) / sum(largest)

    def capacity_of(self, slot: int) -> Fraction:
        """The stated capacity of a slot, or 1."""
        return self.capacities[slot] if slot < len(self.capacities) else Fraction(1)


def refuse_totals_beyond_floats(load: Load, tau: float) -> None:
    """Raises BadInput where all work, the limit or all state is more than a float can say: no answer could be printed."""
    try:
        largest = max(float(sum(load.work)) * (1 + tau), float(sum(load.state)))
    except OverflowError:
        largest = math.inf
    if not math.isfinite(largest):
        raise BadInput("all work (times 1 + tau) or all state is more than 1.8e308: use a larger unit for them")


def scaled(values: Sequence[Number]) -> tuple[list[int], int]:
    """(integers, denominator) with ``values[i] == integers[i] / denominator`` exactly.

    >>> scaled([0.5, 2, 0.25])
    ([2, 8, 1], 4)
    """
    if all(type(value) is int for value in values):
        return [int(value) for value in values], 1
    fractions = [exact(value) for value in values]
    denominator = math.lcm(*(fraction.denominator for fraction in fractions))
    return [fraction.numerator * (denominator // fraction.denominator) for fraction in fractions], denominator


def plain(value: Fraction | int) -> Number:
    """A rational as the number a user expects: an int where it is whole, else the nearest float."""
    return int(value) if Fraction(value).denominator == 1 else float(value)


def positive_capacities(capacities: Sequence[Number] | None) -> tuple[Fraction, ...]:
    """The capacities as rationals. Raises BadInput on one that is not positive."""
    if capacities is None:
        return ()
    for slot, capacity in enumerate(capacities):
        if not capacity > 0 or not math.isfinite(capacity):
            raise BadInput(f"capacity of slot {slot} is {capacity}: it must be positive; give up slots by name instead")
    return tuple(exact(capacity) for capacity in capacities)
