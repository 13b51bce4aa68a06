"""What one slot should keep: the bins with the most state whose work fits, and a bound on what any choice keeps.

Exact by the list of undominated (work, state) pairs, which stays short for the few dozen bins of a slot; where it grows
past ``PAIRS_MAX`` the pairs with least work are dropped: the choice is then only good, and the bound is the fractional
one, in which the last bin may be cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

PAIRS_MAX = 4000


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
    exact = True
    pairs: list[tuple[int, int, int]] = [(0, 0, -1)]
    history: list[tuple[int, int]] = []
    for b in by_density(work, state):
        if work[b] > limit:
            continue
        added = []
        for used, kept, link in pairs:
            if used + work[b] <= limit:
                history.append((b, link))
                added.append((used + work[b], kept + state[b], len(history) - 1))
        pairs = _undominated(pairs, added)
        if len(pairs) > PAIRS_MAX:
            exact, pairs = False, pairs[-PAIRS_MAX:]
    _, most, link = max(pairs, key=lambda pair: (pair[1], -pair[0]))
    bound = Fraction(most) if exact else fractional_keep(work, state, limit)
    return _chain(history, link), bound


def by_density(work: Sequence[int], state: Sequence[int]) -> list[int]:
    """Bins by state per work, the densest first; bins without work come first of all, ties by number."""
    return sorted(range(len(work)), key=lambda b: (work[b] > 0, -state[b] / work[b] if work[b] else 0.0, b))


def _undominated(left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    merged = sorted(left + right, key=lambda pair: (pair[0], -pair[1]))
    best, survivors = -1, []
    for pair in merged:
        if pair[1] > best:
            survivors.append(pair)
            best = pair[1]
    return survivors


def _chain(history: list[tuple[int, int]], link: int) -> list[int]:
    kept = []
    while link >= 0:
        b, link = history[link]
        kept.append(b)
    return sorted(kept)
