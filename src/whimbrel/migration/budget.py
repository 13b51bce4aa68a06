"""The closed loop of the ``budget`` pacing: size the next step so that its epochs stay under the user's p99.

The model is a line: an epoch costs a steady part plus a part per moving bin. Both are read from the epochs just
measured, each as a median (that of bins weighs an epoch by the bins that moved in it). So one slow epoch with a single bin,
which is noise, does not make bins look dear. The answer at most doubles from
step to step, because a first guess is only a guess, and halves at once when an epoch overran.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from whimbrel.migration.facts import EpochFact

HEADROOM = 0.9
"""Aim below the budget: the percentile that matters is the 99th, not the mean."""


def next_size(previous_size: float, budget_ms: float, facts: Sequence[EpochFact]) -> float:
    """How many bins the next step should move: at least one, so that every migration ends.

    >>> next_size(4, 1000, [EpochFact(1, 400, 0), EpochFact(2, 480, 4)])
    8
    >>> next_size(8, 1000, [EpochFact(1, 400, 0), EpochFact(2, 1200, 8)])
    4
    """
    steady = [fact.duration_ms for fact in facts if not fact.bins_moving]
    moving = [fact for fact in facts if fact.bins_moving]
    if not moving:
        return max(1.0, previous_size)
    if moving[-1].duration_ms > budget_ms:
        return max(1, previous_size // 2)
    base_ms = median(steady) if steady else min(fact.duration_ms for fact in moving)
    ms_per_bin = max(1e-3, _price_of_a_bin(moving, base_ms))
    # A step of n bins makes an epoch of 2 n: what the step before sent arrives while its own bins leave.
    affordable = (HEADROOM * budget_ms - base_ms) / ms_per_bin / 2
    return max(1, min(2 * previous_size, affordable))


def _price_of_a_bin(moving: Sequence[EpochFact], base_ms: float) -> float:
    prices = sorted((max(0.0, fact.duration_ms - base_ms) / fact.bins_moving, fact.bins_moving) for fact in moving)
    below, half = 0, sum(bins for _, bins in prices) / 2
    for price, bins in prices:
        below += bins
        if below >= half:
            return price
    return prices[-1][0]
