"""Answers by exhaustion, for questions small enough. Knows the model and nothing of the planners."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product

from whimbrel.model import Assignment, Load
from whimbrel.model.limit import exact

IMPOSSIBLE = Fraction(-1)


def slots_and_limits(
    load: Load,
    current: Assignment,
    slots: int,
    tau: float,
    give_up: Sequence[int] = (),
    capacities: Sequence[float] | None = None,
) -> dict[int, Fraction]:
    """Every slot that a plan may use, with its limit, from the definitions."""
    there = max(slots, max(current.owner) + 1)
    usable = [slot for slot in range(there) if slot not in give_up]
    following = there
    while len(usable) < slots:
        if following not in give_up:
            usable.append(following)
        following += 1
    weight = {s: exact(capacities[s]) if capacities and s < len(capacities) else Fraction(1) for s in usable}
    largest = sorted(weight.values())[-slots:]
    total = sum((exact(value) for value in load.work), Fraction(0))
    return {s: (1 + Fraction(str(tau))) * total * weight[s] / sum(largest) for s in usable}


def most_state_kept(load: Load, current: Assignment, slots: int, limits: dict[int, Fraction]) -> Fraction | None:
    """The most state that a contiguous plan with at most ``slots`` slots can leave in place; None: there is no plan."""
    m = load.bins
    work = [exact(value) for value in load.work]
    state = [exact(value) for value in load.state]
    before_work = [sum(work[:x], Fraction(0)) for x in range(m + 1)]

    @lru_cache(None)
    def kept(left: int, right: int, slot: int) -> Fraction:
        return sum((state[b] for b in range(left, right) if current.owner[b] == slot), Fraction(0))

    @lru_cache(None)
    def best(x: int, used: frozenset[int]) -> Fraction:
        if x == m:
            return Fraction(0)
        if len(used) == slots:
            return IMPOSSIBLE
        found = IMPOSSIBLE
        for right in range(x + 1, m + 1):
            load_here = before_work[right] - before_work[x]
            tried = set()
            for slot, limit in limits.items():
                if slot in used or load_here > limit:
                    continue
                kind = slot if slot in current.owner else ("new", limit)
                if kind in tried:
                    continue
                tried.add(kind)
                rest = best(right, used | {slot})
                if rest >= 0:
                    found = max(found, kept(x, right, slot) + rest)
        return found

    answer = best(0, frozenset())
    return None if answer < 0 else answer


def most_state_kept_anywhere(
    load: Load, current: Assignment, slots: int, limits: dict[int, Fraction]
) -> Fraction | None:
    """As ``most_state_kept`` for bins that may go anywhere."""
    work, state = [exact(value) for value in load.work], [exact(value) for value in load.state]
    best: Fraction | None = None
    for owner in product(limits, repeat=load.bins):
        if len(set(owner)) > slots:
            continue
        carried = dict.fromkeys(limits, Fraction(0))
        for b, slot in enumerate(owner):
            carried[slot] += work[b]
        if all(carried[slot] <= limits[slot] for slot in limits):
            kept = sum((state[b] for b, slot in enumerate(owner) if slot == current.owner[b]), Fraction(0))
            best = kept if best is None else max(best, kept)
    return best


def cheapest_sequence(load: Load, current: Assignment, targets: Sequence[tuple[int, float]]) -> Fraction | None:
    """The least total cost of contiguous plans for all targets in turn, slots labelled, by trying them all."""
    state = [exact(value) for value in load.state]
    reached: dict[tuple[int, ...], Fraction] = {current.owner: Fraction(0)}
    for slots, tau in targets:
        following: dict[tuple[int, ...], Fraction] = {}
        for owner, cost in reached.items():
            limits = slots_and_limits(load, Assignment(owner), slots, tau)
            for target in _contiguous(load, limits, slots):
                moved = sum((state[b] for b in range(load.bins) if owner[b] != target[b]), Fraction(0))
                if target not in following or following[target] > cost + moved:
                    following[target] = cost + moved
        reached = following
    return min(reached.values(), default=None)


def _contiguous(load: Load, limits: dict[int, Fraction], slots: int) -> list[tuple[int, ...]]:
    work = [exact(value) for value in load.work]
    found: list[tuple[int, ...]] = []

    def extend(owner: tuple[int, ...], used: frozenset[int]) -> None:
        if len(owner) == len(work):
            found.append(owner)
            return
        if len(used) == slots:
            return
        for right in range(len(owner) + 1, len(work) + 1):
            carried = sum(work[len(owner) : right], Fraction(0))
            for slot, limit in limits.items():
                if slot not in used and carried <= limit:
                    extend(owner + (slot,) * (right - len(owner)), used | {slot})

    extend((), frozenset())
    return found
