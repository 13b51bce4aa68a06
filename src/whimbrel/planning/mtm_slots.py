"""From measured load to slot counts: the rules by which a trace of counts becomes a trace of slots.

A rule is fitted on one trace and applied to any other: the first month sets the thresholds, the second is judged by
them. Every rule is a list of ascending thresholds; a count up to the first one needs the fewest slots, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whimbrel.model import BadInput

NORMALISATIONS = ("equal-width", "percentile", "proportional")


@dataclass(frozen=True, slots=True)
class SlotRule:
    """``thresholds[i]`` is the largest count that ``states[i]`` slots serve; the last state serves all above."""

    states: tuple[int, ...]
    thresholds: tuple[float, ...]

    def slots_for(self, counts: Sequence[float]) -> tuple[int, ...]:
        """The slot count of every interval."""
        places = np.searchsorted(np.asarray(self.thresholds), np.asarray(counts, np.float64), side="left")
        return tuple(self.states[int(i)] for i in places)


def fit_rule(counts: Sequence[float], states: Sequence[int], normalisation: str = "equal-width") -> SlotRule:
    """The rule that a trace of counts suggests for these slot counts.

    ``equal-width``   the range of the counts in as many equal parts as there are states
    ``percentile``    as many intervals of the trace for each state
    ``proportional``  slots in proportion to the count, from the fewest at the smallest count to the most at the
                      largest, rounded to the nearest state

    Raises BadInput for an unknown name, an empty trace, or states that do not ascend.

    >>> fit_rule([0, 10, 20, 30], [1, 2, 3]).slots_for([5, 10, 15, 40])
    (1, 1, 2, 3)
    """
    known = tuple(int(count) for count in states)
    if not known or list(known) != sorted(set(known)) or known[0] < 1:
        raise BadInput(f"states is {list(known)}: name slot counts of at least 1 in ascending order")
    if len(counts) == 0:
        raise BadInput("there are no counts: a rule needs at least one interval")
    values = np.asarray(counts, np.float64)
    low, high = float(values.min()), float(values.max())
    if normalisation == "equal-width":
        edges = np.linspace(low, high, len(known) + 1)[1:-1]
    elif normalisation == "percentile":
        edges = np.quantile(values, np.linspace(0, 1, len(known) + 1)[1:-1])
    elif normalisation == "proportional":
        middles = (np.array(known[1:]) + np.array(known[:-1])) / 2
        edges = low + (middles - known[0]) / max(1, known[-1] - known[0]) * (high - low)
    else:
        raise BadInput(f"there is no normalisation {normalisation!r}: choose one of {', '.join(NORMALISATIONS)}")
    return SlotRule(known, tuple(float(edge) for edge in edges))
