"""What one slot should keep: the bins with the most state whose work fits, and a bound on what any choice keeps.

Exact by the list of undominated (work, state) pairs, which stays short for the few dozen bins of a slot and for small
whole numbers. Of more than ``CORE_BINS`` bins with larger ones only those about as dense as the first that no longer
fits are weighed against each other: much denser ones stay, much thinner ones only fill what room is left. And where the
list grows past ``PAIRS_MAX`` the pairs with least work are dropped. Either way the choice is then only good, and the
bound is the fractional one, in which the last bin may be cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whimbrel.planning.instance import WIDEST

PAIRS_MAX = 4000

CORE_BINS = 64

Numbers = NDArray[Any]
"""64-bit integers, or Python's own where the sums would not fit."""

Links = NDArray[np.int64]


def fractional_keep(work: Sequence[int], state: Sequence[int], limit: int) -> Fraction:
    """The most state that could stay if the last bin could be cut: no choice of whole bins keeps more.

    >>> fractional_keep([2, 2], [10, 4], limit=3)
    Fraction(12, 1)
    """
    kept, room = Fraction(0), limit
    for b in by_density(work, state):
        if work[b] <= room:
            kept += state[b]
            room -= work[b]
        else:
            kept += Fraction(state[b] * room, work[b])
            break
    return kept


def best_keep(work: Sequence[int], state: Sequence[int], limit: int) -> tuple[list[int], Fraction]:
    """(bins to keep, ascending; the most state that any choice could keep). Equal worth wherever the lists stay short.

    >>> best_keep([3, 2, 2], [5, 3, 3], limit=4)
    ([1, 2], Fraction(6, 1))
    """
    if sum(work) <= limit:
        return list(range(len(work))), Fraction(sum(state))
    order = [b for b in by_density(work, state) if work[b] <= limit]
    core = len(order) if min(limit, sum(state)) < PAIRS_MAX else CORE_BINS
    first = max(0, min(_break_of(order, work, limit) - core // 2, len(order) - core))
    last = first + core
    chosen = order[:first]
    room = limit - sum(work[b] for b in chosen)
    among, exact = _best_of(order[first:last], work, state, room)
    chosen, room = chosen + among, room - sum(work[b] for b in among)
    for b in order[last:]:
        if work[b] <= room:
            chosen.append(b)
            room -= work[b]
    proven = exact and len(order) <= core
    return sorted(chosen), Fraction(sum(state[b] for b in chosen)) if proven else fractional_keep(work, state, limit)


def _break_of(order: Sequence[int], work: Sequence[int], limit: int) -> int:
    """How many bins fit when they are taken in this order and none is passed over."""
    room = limit
    for place, b in enumerate(order):
        room -= work[b]
        if room < 0:
            return place
    return len(order)


def _best_of(bins: Sequence[int], work: Sequence[int], state: Sequence[int], room: int) -> tuple[list[int], bool]:
    """(the choice among ``bins`` that keeps most state, whether that is proven)."""
    small = sum(work) + sum(state) <= WIDEST
    numbers: type = np.int64 if small else object
    used: Numbers = np.zeros(1, numbers)
    kept: Numbers = np.zeros(1, numbers)
    link: Links = np.full(1, -1, np.int64)
    history: list[tuple[int, int, Links]] = []
    count, exact = 0, True
    for b in bins:
        fitting = int(np.searchsorted(used, room - work[b], side="right"))
        history.append((count, b, link[:fitting]))
        added = np.arange(count, count + fitting, dtype=np.int64)
        count += fitting
        used = np.concatenate([used, used[:fitting] + work[b]])
        kept = np.concatenate([kept, kept[:fitting] + state[b]])
        used, kept, link = _undominated(used, kept, np.concatenate([link, added]))
        if len(used) > PAIRS_MAX:
            exact, used, kept, link = False, used[-PAIRS_MAX:], kept[-PAIRS_MAX:], link[-PAIRS_MAX:]
    return _chain(history, int(link[-1])), exact


def by_density(work: Sequence[int], state: Sequence[int]) -> list[int]:
    """Bins by state per work, the densest first; bins without work come first of all, ties by number."""
    return sorted(range(len(work)), key=lambda b: (work[b] > 0, -state[b] / work[b] if work[b] else 0.0, b))


def _undominated(used: Numbers, kept: Numbers, link: Links) -> tuple[Numbers, Numbers, Links]:
    """The pairs that keep more than every pair with no more work, ascending in both; of equal ones the first."""
    order = np.argsort(used, kind="stable")
    used, kept, link = used[order], kept[order], link[order]
    better = np.ones(len(used), bool)
    better[1:] = kept[1:] > np.maximum.accumulate(kept)[:-1]
    used, kept, link = used[better], kept[better], link[better]
    last = np.ones(len(used), bool)
    last[:-1] = used[1:] != used[:-1]
    return used[last], kept[last], link[last]


def _chain(history: Sequence[tuple[int, int, Links]], link: int) -> list[int]:
    """The bins along a chain of links; ``history`` holds (first link, bin, the links before) per bin."""
    chosen = []
    for first, b, before in reversed(history):
        if link >= first:
            chosen.append(b)
            link = int(before[link - first])
    return chosen
