"""Transfer phases: in each, every slot sends to at most one other and receives from at most one.

No schedule of that kind can end before the busiest slot has sent, or received, everything: that is the lower bound.
This one always reaches it. The times of all pairs are embedded in a larger square table whose every row and column sums
to the bound; such a table always has a perfect matching of positive entries, and taking one away for as long as its
smallest entry lasts leaves such a table again (Birkhoff and von Neumann). Each matching is chosen with the largest
smallest entry, so that the phases are few.

A pair runs at the slower of its two links, full duplex, with a switch that does not block. All times are exact
rationals until they are reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from whimbrel.model import BadInput
from whimbrel.model.limit import exact
from whimbrel.model.load import Number

Pair = tuple[int, int]
Times = dict[Pair, int]


@dataclass(frozen=True)
class Phase:
    """Pairs (from, to) that are busy together for ``seconds``; ``bytes[i]`` is what pair i carries meanwhile."""

    seconds: Fraction
    pairs: tuple[Pair, ...]
    bytes: tuple[Fraction, ...]


@dataclass(frozen=True)
class Schedule:
    """Phases in order; ``seconds`` always equals ``lower_bound``."""

    phases: tuple[Phase, ...]
    seconds: Fraction
    lower_bound: Fraction


def transfer_phases(
    bytes_between: Sequence[Sequence[Number]],
    uplink: Number | Sequence[Number] | None = None,
    downlink: Number | Sequence[Number] | None = None,
) -> Schedule:
    """The phases that carry ``bytes_between[from][to]``; what stays on its slot (the diagonal) is no transfer.

    Links are in bytes per second, one number for all or one per slot; without them each carries one byte per second.
    Raises BadInput unless the table is square and nothing is negative.

    >>> schedule = transfer_phases([[0, 2, 1], [0, 0, 3], [1, 0, 0]])
    >>> schedule.seconds == schedule.lower_bound == 4
    True
    """
    slots = len(bytes_between)
    speeds = _speeds("uplink", uplink, slots), _speeds("downlink", downlink, slots)
    rates, times = {}, {}
    for pair, amount in _amounts(bytes_between).items():
        rates[pair] = min(speeds[0][pair[0]], speeds[1][pair[1]])
        times[pair] = amount / rates[pair]
    scale = math.lcm(*(time.denominator for time in times.values())) if times else 1
    whole = {pair: int(time * scale) for pair, time in times.items()}
    bound = _busiest(whole, slots)
    phases = []
    for duration, pairs in _matchings(whole, slots, bound):
        seconds = Fraction(duration, scale)
        phases.append(Phase(seconds, pairs, tuple(seconds * rates[pair] for pair in pairs)))
    total = sum((phase.seconds for phase in phases), Fraction(0))
    return Schedule(tuple(phases), total, Fraction(bound, scale))


def _amounts(bytes_between: Sequence[Sequence[Number]]) -> dict[Pair, Fraction]:
    amounts = {}
    for source, row in enumerate(bytes_between):
        if len(row) != len(bytes_between):
            raise BadInput(f"row {source} of bytes has {len(row)} entries: the table must be square")
        for target, amount in enumerate(row):
            _check(f"bytes[{source}][{target}]", amount, least_allowed=True)
            if amount > 0 and source != target:
                amounts[source, target] = exact(amount)
    return amounts


def _speeds(name: str, given: Any, slots: int) -> list[Fraction]:
    if given is None:
        return [Fraction(1)] * slots
    speeds = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given] * slots
    if len(speeds) != slots:
        raise BadInput(f"{name} has {len(speeds)} entries and bytes {slots} rows: give one speed per slot, or one")
    for slot, speed in enumerate(speeds):
        _check(f"{name}[{slot}]", speed, least_allowed=False)
    return [exact(speed) for speed in speeds]


def _check(name: str, value: Number, least_allowed: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadInput(f"{name} is {value!r}: it must be a finite number")
    if value < 0 or (value == 0 and not least_allowed):
        raise BadInput(f"{name} is {value}: it must be {'zero or more' if least_allowed else 'positive'}")


def _busiest(times: Times, slots: int) -> int:
    """The longest time that one slot needs to send, or to receive, everything."""
    out, into = [0] * slots, [0] * slots
    for (source, target), time in times.items():
        out[source] += time
        into[target] += time
    return max([0, *out, *into])


def _embedded(times: Times, slots: int, bound: int) -> Times:
    """The table [[times, idle], [idle', times transposed]] whose rows and columns all sum to ``bound``."""
    table = dict(times)
    out, into = [bound] * slots, [bound] * slots
    for (source, target), time in times.items():
        out[source] -= time
        into[target] -= time
        table[slots + target, slots + source] = time
    for slot in range(slots):
        if out[slot]:
            table[slot, slots + slot] = out[slot]
        if into[slot]:
            table[slots + slot, slot] = into[slot]
    return table


def _matchings(times: Times, slots: int, bound: int) -> list[tuple[int, tuple[Pair, ...]]]:
    table = _embedded(times, slots, bound)
    found = []
    left = bound
    while left:
        column_of = _widest_matching(table, 2 * slots)
        matched = [(row, int(column_of[row])) for row in range(2 * slots)]
        duration = min(table[pair] for pair in matched)
        for pair in matched:
            table[pair] -= duration
            if not table[pair]:
                del table[pair]
        left -= duration
        found.append((duration, tuple(pair for pair in matched if pair[0] < slots and pair[1] < slots)))
    return found


def _widest_matching(table: Times, size: int) -> np.ndarray:
    """The perfect matching whose smallest entry is largest; column by row."""
    values = sorted(set(table.values()))
    low, high = 0, len(values) - 1
    best = _perfect_matching(table, size, values[0])
    while low < high:
        middle = (low + high + 1) // 2
        attempt = _perfect_matching(table, size, values[middle])
        if attempt.min() >= 0:
            low, best = middle, attempt
        else:
            high = middle - 1
    return best


def _perfect_matching(table: Times, size: int, least: int) -> np.ndarray:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    pairs = np.array([pair for pair, value in table.items() if value >= least])
    graph = csr_matrix((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    return np.asarray(maximum_bipartite_matching(graph, perm_type="column"))
