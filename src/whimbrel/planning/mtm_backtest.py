"""What look-ahead would have saved on recorded history, and whether that is enough to use it.

Both planners walk the recorded slot counts from the same even start. Their costs are compared in blocks of
consecutive migrations, because what one migration saves the next may pay for. Look-ahead stays on only where the mean
saving exceeds its standard error: chance alone must not switch it on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whimbrel.model import Assignment, BadInput, Load
from whimbrel.planning import projection_store
from whimbrel.planning.instance import Instance
from whimbrel.planning.mtm_choice import AdditiveChoice, ExactChoice
from whimbrel.planning.mtm_planner import read_projection
from whimbrel.planning.projection_overlap import kept
from whimbrel.planning.projection_program import Program, best_partition
from whimbrel.planning.projection_reach import IntArray, Reach
from whimbrel.planning.projection_space import FloatArray

BLOCKS_MOST = 10
MIGRATIONS_LEAST = 4
"""Below this many migrations there is nothing to learn from, and look-ahead stays off."""

Step = Callable[[IntArray, int], IntArray]
"""From the cuts of now and the next slot count to the cuts of then."""


@dataclass(frozen=True, slots=True)
class BackTest:
    """Mean state moved per migration by the single step and by look-ahead, and the error of their difference.

    ``saved_error`` is the standard error of ``saved``, over blocks of consecutive migrations.
    """

    migrations: int
    single: float
    ahead: float
    saved_error: float

    @property
    def saved(self) -> float:
        """The saving as a share of what the single step moved; negative where look-ahead lost."""
        return 1 - self.ahead / self.single if self.single else 0.0

    @property
    def pays(self) -> bool:
        """Whether look-ahead saved more than chance explains."""
        return self.migrations >= MIGRATIONS_LEAST and self.saved > self.saved_error


def compare(single: Sequence[float], ahead: Sequence[float]) -> BackTest:
    """The back-test that two walks over the same migrations amount to, by their costs per migration.

    >>> compare([4, 4, 4, 4], [3, 3, 3, 3]).pays
    True
    """
    if len(single) == 0:
        return BackTest(0, 0.0, 0.0, 0.0)
    saved = np.asarray(single, np.float64) - np.asarray(ahead, np.float64)
    blocks = [block.mean() for block in np.array_split(saved, min(BLOCKS_MOST, len(saved)))]
    mean = float(np.mean(single))
    error = float(np.std(blocks, ddof=1) / np.sqrt(len(blocks))) if len(blocks) > 1 else 0.0
    return BackTest(len(saved), mean, float(np.mean(ahead)), error / mean if mean else 0.0)


def walk(step: Step, history: Sequence[int], start: IntArray, prefix: FloatArray) -> list[float]:
    """The state moved by each migration of a history, when ``step`` plans them all."""
    moved = []
    cuts = start
    for slots in history:
        following = step(cuts, slots)
        moved.append(float(prefix[-1] - kept(cuts, following, prefix)))
        cuts = following
    return moved


def single_step(bounds: dict[int, Reach], prefix: FloatArray) -> Step:
    """The step of a planner that looks no further than the migration at hand."""
    programs = {
        slots: Program.of(found, np.zeros((found.bins, max(1, found.widest))))
        for slots, found in bounds.items()
        if found.feasible
    }
    return lambda cuts, slots: best_partition(programs[slots], cuts, prefix)


def look_ahead(choice: ExactChoice | AdditiveChoice, single: Step, prefix: FloatArray) -> Step:
    """The step of a planner that looks ahead, with the single step among its candidates."""

    def step(cuts: IntArray, slots: int) -> IntArray:
        first = single(cuts, slots)
        chosen = choice.choose(cuts.tolist(), slots, prefix, first.tolist())
        return np.array(chosen.cuts, np.int32)

    return step


def backtest_folder(folder: Path, slots: Sequence[int], apply: bool = True) -> BackTest:
    """Walks recorded slot counts, one per interval, with and without the projection in ``folder``.

    Intervals that keep the slot count are no migrations; slot counts that the projection does not know or cannot
    reach are left out. With ``apply`` the folder remembers whether look-ahead pays. Raises BadInput where no
    migration is left.
    """
    projection = read_projection(folder)
    instance = projection.stamp.instance
    load = Load(instance.load.work, instance.load.state)
    asked = Instance(load, Assignment.even(load.bins, 1), instance.states[0], instance.tau)
    choice = projection.chooser(asked, instance.gamma, drift=False)
    bounds = projection.reaches()
    history = migrations(slots, [count for count, found in bounds.items() if found.feasible])
    if not history:
        raise BadInput(f"the history has no migration between the slot counts {list(instance.states)}")
    prefix = np.concatenate([[0.0], np.cumsum(np.asarray(load.state, np.float64))])
    single = single_step(bounds, prefix)
    start = single(np.zeros(0, np.int32), history[0])
    moved = walk(single, history[1:], start, prefix)
    found = compare(moved, walk(look_ahead(choice, single, prefix), history[1:], start, prefix))
    if apply:
        projection_store.write_stamp(folder, replace(projection.stamp, enabled=found.pays))
    return found


def migrations(slots: Sequence[int], known: Sequence[int]) -> tuple[int, ...]:
    """The slot counts among ``known``, without repeats in a row.

    >>> migrations([8, 8, 10, 9, 10, 12], [8, 10, 12])
    (8, 10, 12)
    """
    kept_counts = [count for count in slots if count in set(known)]
    pairs = zip([None, *kept_counts], kept_counts, strict=False)
    return tuple(after for before, after in pairs if before != after)
