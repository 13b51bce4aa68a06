"""When each event is due: a rate that may change over time, and never waits for the system under test.

A schedule is a cycle of stretches, each with its own constant rate. Both directions are exact inverses:
the events due by a time, and the time at which an event is due.
"""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.chance import Integers

_SINE_SLICES = 64


@dataclass(frozen=True, slots=True)
class Schedule:
    """``stretches`` of (seconds, events per second), repeated for ever.

    >>> Schedule.flat(1000).due_us(np.array([0, 500])).tolist()
    [0, 500000]
    """

    stretches: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for seconds, rate in self.stretches:
            if not (math.isfinite(seconds) and seconds > 0 and math.isfinite(rate) and rate >= 0):
                raise BadInput(f"a stretch of {seconds} s at {rate} events/s: time must be above zero, rate not below")
        if sum(seconds * rate for seconds, rate in self.stretches) < 1:
            raise BadInput("the schedule never sends an event: raise its rate")

    @staticmethod
    def flat(rate: float) -> Schedule:
        """The same rate for ever."""
        return Schedule(((max(1.0, 1.0 / max(rate, 1e-9)), rate),))

    @staticmethod
    def step(rate: float, high: float, period_s: float) -> Schedule:
        """Half of each period at ``rate``, half at ``high``."""
        return Schedule(((period_s / 2, rate), (period_s / 2, high)))

    @staticmethod
    def sine(rate: float, high: float, period_s: float) -> Schedule:
        """A wave from ``rate`` up to ``high`` and back in each period, in 64 slices."""
        angles = 2 * math.pi * (np.arange(_SINE_SLICES) + 0.5) / _SINE_SLICES
        rates = rate + (high - rate) * (1 - np.cos(angles)) / 2
        return Schedule(tuple((period_s / _SINE_SLICES, float(each)) for each in rates))

    @staticmethod
    def trace(path: Path | str, rate: float, row_s: float, column: str | None = None) -> Schedule:
        """The shape of a trace file: each row of a CSV lasts ``row_s`` seconds, the mean rate is ``rate``."""
        counts = _read_counts(Path(path), column)
        mean = sum(counts) / len(counts)
        if mean <= 0:
            raise BadInput(f"{path}: the counts are all zero, so they have no shape")
        return Schedule(tuple((row_s, rate * count / mean) for count in counts))

    def due_us(self, positions: Integers) -> Integers:
        """Microseconds after the start at which the event at each position is due."""
        times, events = self._corners()
        cycle, within = np.divmod(positions.astype(np.float64), events[-1])
        return np.asarray(np.ceil((cycle * times[-1] + _inverse(within, events, times)) * 1e6 - 1e-3), dtype=np.int64)

    def due_by(self, elapsed_us: int) -> int:
        """How many events are due within ``elapsed_us`` after the start: the next one is due later."""
        if elapsed_us < 0:
            return 0
        times, events = self._corners()
        cycle, within = divmod(elapsed_us / 1e6, times[-1])
        guess = int(cycle * events[-1] + np.interp(within, times, events))
        around = np.arange(max(guess - 2, 0), guess + 4, dtype=np.int64)
        return int(around[0] + np.searchsorted(self.due_us(around), elapsed_us, side="right"))

    def _corners(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        seconds, rates = np.array(self.stretches, dtype=np.float64).T
        return np.concatenate([[0.0], np.cumsum(seconds)]), np.concatenate([[0.0], np.cumsum(seconds * rates)])


def _inverse(
    within: NDArray[np.float64], events: NDArray[np.float64], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The time of each count; the last stretch that begins at or before it sends it, so never a silent one."""
    stretch = np.minimum(np.searchsorted(events, within, side="right"), len(events) - 1) - 1
    rates = np.diff(events) / np.diff(times)
    return np.asarray(times[stretch] + (within - events[stretch]) / rates[stretch])


def _read_counts(path: Path, column: str | None) -> Sequence[float]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise BadInput(f"{path}: cannot read the trace ({error.strerror or error})") from None
    if not rows:
        raise BadInput(f"{path}: the trace has no rows")
    name = column or list(rows[0])[-1]
    if name not in rows[0]:
        raise BadInput(f"{path}: no column {name!r}; it has {', '.join(rows[0])}")
    try:
        counts = [float(row[name]) for row in rows]
    except (TypeError, ValueError):
        raise BadInput(f"{path}: column {name!r} holds something that is not a number") from None
    if any(not math.isfinite(count) or count < 0 for count in counts):
        raise BadInput(f"{path}: column {name!r} holds a negative or infinite count")
    return counts
