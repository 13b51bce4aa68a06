"""The migration transition matrix: with what probability one slot count follows another.

A matrix is estimated from the slot counts of consecutive intervals. By default only changes count, so its diagonal is
zero: a matrix then speaks of migrations, not of intervals. A slot count that was never left has an empty row; it backs
off to the moves that led to it, read backwards, and is named in ``empty_rows``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whimbrel.model import BadInput


@dataclass(frozen=True, slots=True)
class TransitionMatrix:
    """``matrix[i][j]``: the probability that ``states[j]`` slots follow ``states[i]``; every row sums to 1.

    ``counts`` are the moves seen; ``empty_rows`` are the slot counts whose row had none and is a substitute.
    """

    states: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]
    matrix: tuple[tuple[float, ...], ...]
    empty_rows: tuple[int, ...]

    def draw(self, start: int, moves: int, random: np.random.Generator) -> tuple[int, ...]:
        """A chain of ``moves`` slot counts after ``start``, drawn from the matrix; ``start`` is not part of it.

        Raises BadInput where ``start`` is not one of the states.
        """
        if start not in self.states:
            raise BadInput(f"the chain starts from {start} slots, which is not one of the states {list(self.states)}")
        rows = np.cumsum(np.asarray(self.matrix), axis=1)
        rows[:, -1] = 1.0
        at = self.states.index(start)
        chain = []
        for share in random.random(moves):
            at = int(np.searchsorted(rows[at], share, side="right"))
            chain.append(self.states[at])
        return tuple(chain)


def estimate(slots: Sequence[int], self_moves: bool = False, states: Iterable[int] | None = None) -> TransitionMatrix:
    """The matrix of a sequence of slot counts, one per interval.

    ``self_moves`` counts intervals that keep the slot count as moves to itself. ``states`` adds slot counts that the
    sequence may lack. Raises BadInput for an empty sequence or a count below 1.

    >>> estimate([8, 10, 10, 8, 12]).matrix
    ((0.0, 0.5, 0.5), (1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    >>> estimate([8, 10, 10, 8, 12]).empty_rows
    (12,)
    """
    if not slots:
        raise BadInput("there are no slot counts: give at least one interval")
    if min(slots) < 1:
        raise BadInput(f"interval {list(slots).index(min(slots))} has {min(slots)} slots: a job has at least 1")
    known = tuple(sorted({*slots, *(states or ())}))
    place = {count: i for i, count in enumerate(known)}
    counts = np.zeros((len(known), len(known)), np.int64)
    for before, after in pairwise(slots):
        if self_moves or before != after:
            counts[place[before], place[after]] += 1
    return from_counts(known, counts)


def from_counts(states: Sequence[int], counts: np.ndarray) -> TransitionMatrix:
    """The matrix of counted moves; ``counts[i, j]`` of them led from ``states[i]`` to ``states[j]``."""
    empty = counts.sum(axis=1) == 0
    filled = counts.astype(np.float64)
    filled[empty] = counts.T[empty]
    for i in np.flatnonzero(filled.sum(axis=1) == 0):
        filled[i] = 1.0
        filled[i, i] = 0.0 if len(states) > 1 else 1.0
    matrix = filled / filled.sum(axis=1, keepdims=True)
    return TransitionMatrix(
        tuple(int(count) for count in states),
        tuple(tuple(row) for row in counts.tolist()),
        tuple(tuple(row) for row in matrix.tolist()),
        tuple(int(count) for count, bare in zip(states, empty, strict=True) if bare),
    )
