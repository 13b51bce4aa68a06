"""Random small planning questions of every kind, from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whimbrel.model import Assignment, Load


@dataclass(frozen=True)
class Question:
    """What a planner is asked."""

    load: Load
    current: Assignment
    slots: int
    tau: float
    give_up: tuple[int, ...] = ()
    capacities: tuple[float, ...] | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """What is special about it, in words."""
        old, work, state = len(set(self.current.owner)), self.load.work, self.load.state
        bins = self.load.bins
        found = {
            "growth": self.slots > old,
            "shrinkage": self.slots < old,
            "rebalance": self.slots == old,
            "slots given up": bool(set(self.give_up) & set(self.current.owner)),
            "unequal capacities": len(set(self.capacities or ())) > 1,
            "an empty interval now": len(set(self.current.owner)) <= max(self.current.owner),
            "bins without work": 0 in work and any(work),
            "no work at all": not any(work),
            "bins without state": 0 in state and any(state),
            "no state at all": not any(state),
            "fewer bins than slots": bins < self.slots,
            "one bin": bins == 1,
            "floats": any(isinstance(value, float) and value != int(value) for value in (*work, *state)),
            "integers": all(isinstance(value, int) for value in (*work, *state)),
            "tau 0": self.tau == 0,
            "a bin over the limit": max(work) * self.slots > (1 + self.tau) * sum(work),
        }
        return frozenset(kind for kind, holds in found.items() if holds)


TAUS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 1.2)


def questions(seed: int, count: int, bins_max: int = 7, contiguous: bool = True) -> Iterator[Question]:
    """Growth, shrinkage and rebalancing; empty slots, zero work, zero state, heavy bins, floats; few and many bins."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        bins = int(random.integers(1, bins_max + 1))
        old = int(random.integers(1, min(bins, 4) + 1))
        load = Load(_values(random, bins), _values(random, bins))
        yield Question(
            load,
            _current(random, bins, old, contiguous),
            slots=int(random.integers(1, 6)),
            tau=float(random.choice(TAUS)),
            give_up=tuple(int(s) for s in random.choice(5, int(random.integers(1, 3)), False))
            if random.random() < 0.2
            else (),
            capacities=tuple(float(c) for c in random.choice([0.5, 1, 2, 3], 5)) if random.random() < 0.15 else None,
        )


def _values(random: np.random.Generator, bins: int) -> tuple[int | float, ...]:
    kind = int(random.integers(6))
    if kind == 0:
        return (1,) * bins
    if kind == 1:
        return tuple(float(v) for v in random.integers(0, 100, bins) / 10)
    if kind == 2:
        return tuple(int(v) for v in random.zipf(1.5, bins).clip(0, 10_000))
    return tuple(int(v) for v in random.integers(0, (2, 6, 40)[kind - 3], bins))


def _current(random: np.random.Generator, bins: int, old: int, contiguous: bool) -> Assignment:
    slots = random.permutation(old + int(random.integers(0, 2)))[:old]
    if not contiguous:
        return Assignment(tuple(int(s) for s in random.choice(slots, bins)))
    cuts = np.sort(random.choice(np.arange(1, bins), old - 1, replace=False)) if old > 1 else np.array([], int)
    sizes = np.diff(np.concatenate([[0], cuts, [bins]]))
    return Assignment(tuple(int(s) for s in np.repeat(slots, sizes)))
