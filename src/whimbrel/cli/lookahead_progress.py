"""How far a projection is: a bar with the time that remains on a terminal, a line per change anywhere else.

Always on standard error, so that standard output stays one JSON object.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from whimbrel.cli.answers import note
from whimbrel.planning.projection_count import duration
from whimbrel.planning.projection_iteration import Progress as Iteration

Tell = Callable[[float, str, str], None]
"""Told the share that is done, a few words for the bar, and the line that replaces it where there is no terminal."""


@contextmanager
def shown() -> Iterator[Tell]:
    """Shows what it is told until the block ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda share, words, line: note(line) if line else None
        return
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda share, words, line: bar.update(task, completed=share, description=words)


class Sweeps:
    """The course of an exact projection: told of every sweep, and of the tasks done within one."""

    def __init__(self, tell: Tell, total_state: float, tolerance: float, done: int, clock: Callable[[], float]) -> None:
        self._tell, self._total_state, self._tolerance, self._clock = tell, total_state, tolerance, clock
        self._started, self._first, self._done = clock(), done, done
        self._bounds: list[float] = []

    def swept(self, progress: Iteration) -> None:
        """A sweep has ended."""
        self._done = progress.sweeps
        self._bounds.append(progress.bound / self._total_state if self._total_state else 0.0)
        left = duration(self._seconds_left())
        self._tell(
            self._share(0.0),
            f"sweep {progress.sweeps}, error bound {self._bounds[-1]:.0e} of the state, about {left} left",
            f"sweep {progress.sweeps}: residual {progress.residual:.3e}, "
            f"error bound {self._bounds[-1]:.2e} of the state, {progress.evaluated:,} pairs evaluated, "
            f"{progress.pruned:,} pruned; about {left} left",
        )

    def working(self, done: int, tasks: int) -> None:
        """So many tasks of the sweep under way are done."""
        share, spent = self._share(done / tasks), self._clock() - self._started
        left = f"about {duration(spent * (1 - share) / share)} left" if share > 0 else "no idea yet how long"
        line = f"sweep {self._done + 1}: {done} of {tasks} tasks done"
        self._tell(share, f"{line}, {left}", line)

    def _share(self, of_sweep: float) -> float:
        """How much of this run's sweeps is done, as far as the fall of the error bound tells."""
        done = self._done - self._first
        return (done + of_sweep) / max(done + sweeps_left(self._bounds, self._tolerance), 1e-9)

    def _seconds_left(self) -> float:
        each = (self._clock() - self._started) / max(1, self._done - self._first)
        return each * sweeps_left(self._bounds, self._tolerance)


def sweeps_left(bounds: list[float], tolerance: float) -> float:
    """How many more sweeps the fall of the bounds promises; policy iteration falls ever faster, so rather fewer.

    >>> sweeps_left([], 1e-12), sweeps_left([1.0, 1e-3], 1e-9), sweeps_left([1.0, 1e-13], 1e-12)
    (8.0, 1.0, 0.0)
    """
    if bounds and bounds[-1] <= tolerance:
        return 0.0
    if len(bounds) < 2 or bounds[-1] >= bounds[-2]:
        return 8.0 - len(bounds[:1])
    return max(1.0, min(20.0, log(bounds[-1] / tolerance) / log(bounds[-2] / bounds[-1]) / 2))


def rounds_told(
    tell: Tell, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> Callable[[int, float], None]:
    """What fitted value iteration reports to, round by round."""
    started = clock()

    def told(done: int, change: float) -> None:
        left = f"about {duration((clock() - started) / done * (rounds - done))} left"
        moved = f"answers moved by {change:.2e} of the state"
        tell(done / rounds, f"round {done} of {rounds}, {left}", f"round {done} of {rounds}: {moved}; {left}")

    return told
