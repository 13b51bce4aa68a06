"""Redist and Scan (Gedik 2014): partitioning functions that weigh balance against migration, bin by bin.

Both place every bin anew. A placement is judged by ``imbalance + weight * migration``. Imbalance is the geometric mean
over memory, processing and network of (most loaded - least loaded) / (slack * mean); migration is the state moved so
far over the mean state of a slot. Redist takes, among all bins not yet placed and all slots, the pair with the smallest
utility per unit of work; Scan goes through the bins from the heaviest down. Beyond ``TRACKED_MAX`` bins only the
heaviest are placed so; the rest follow a consistent ring, as the published method does with rare keys.

``slack`` is the method's own theta, not tau: neither keeps the limit. Processing and network are both the work here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whimbrel.model import Assignment
from whimbrel.planning.consistent_hashing import ring_assignment
from whimbrel.planning.instance import Instance

Floats = NDArray[np.float64]

TRACKED_MAX = 1024


@dataclass
class _Board:
    """The placement so far: load per slot, and state moved."""

    work: Floats
    state: Floats
    mean_work: float
    mean_state: float
    slack: float
    weight: float
    moved: float = 0.0

    def utility(self, work: Floats, state: Floats, home: NDArray[np.int64]) -> Floats:
        """Utility [bin, slot] of placing each bin on each slot next; smaller is better."""
        by_state = _spread(self.state, state) / (self.slack * self.mean_state)
        by_work = _spread(self.work, work) / (self.slack * self.mean_work)
        imbalance = np.cbrt(by_state * by_work * by_work)
        leaves = home[:, None] != np.arange(self.work.size)[None, :]
        return imbalance + self.weight * (self.moved + state[:, None] * leaves) / self.mean_state

    def place(self, work: float, state: float, home: int, slot: int) -> None:
        self.work[slot] += work
        self.state[slot] += state
        self.moved += state if home != slot else 0.0


def _spread(loads: Floats, added: Floats) -> Floats:
    """Most minus least loaded slot after adding each bin to each slot."""
    order = np.sort(loads)
    others_most = np.where(loads == order[-1], order[-2] if loads.size > 1 else 0.0, order[-1])
    others_least = np.where(loads == order[0], order[1] if loads.size > 1 else np.inf, order[0])
    changed = loads[None, :] + added[:, None]
    return np.maximum(changed, others_most) - np.minimum(changed, others_least)  # type: ignore[no-any-return]


def redist(instance: Instance, weight: float = 1.0, slack: float = 0.2) -> Assignment:
    """The bin and slot with the smallest utility per unit of work, again and again."""
    return _placed(instance, weight, slack, heaviest_first=False)


def scan(instance: Instance, weight: float = 1.0, slack: float = 0.2) -> Assignment:
    """The bins from the heaviest down, each to the slot with the smallest utility."""
    return _placed(instance, weight, slack, heaviest_first=True)


def _placed(instance: Instance, weight: float, slack: float, heaviest_first: bool) -> Assignment:
    slots = instance.usable_slots[: instance.slots]
    work = np.asarray(instance.load.work, float)
    state = np.asarray(instance.load.state, float)
    column_of = {slot: column for column, slot in enumerate(slots)}
    home = np.array([column_of.get(slot, -1) for slot in instance.current.owner])
    chosen = np.array([column_of[slot] for slot in ring_assignment(work.size, slots).owner])
    board = _Board(
        work=np.zeros(len(slots)),
        state=np.zeros(len(slots)),
        mean_work=max(work.sum() / len(slots), 1e-300),
        mean_state=max(state.sum() / len(slots), 1e-300),
        slack=slack,
        weight=weight,
    )
    order = np.argsort(-work, kind="stable")
    for b in order[TRACKED_MAX:].tolist():
        board.place(work[b], state[b], int(home[b]), int(chosen[b]))
    waiting = order[:TRACKED_MAX]
    while waiting.size:
        at, slot = _next(board, work, state, home, waiting, heaviest_first)
        b = int(waiting[at])
        board.place(work[b], state[b], int(home[b]), slot)
        chosen[b] = slot
        waiting = np.delete(waiting, at)
    return Assignment(tuple(slots[column] for column in chosen.tolist()))


def _next(
    board: _Board, work: Floats, state: Floats, home: NDArray[np.int64], waiting: NDArray[np.int64], heaviest: bool
) -> tuple[int, int]:
    among = waiting[:1] if heaviest else waiting
    utility = board.utility(work[among], state[among], home[among])
    if not heaviest:
        utility = utility / np.maximum(work[among], 1e-12)[:, None]
    at, slot = np.unravel_index(int(np.argmin(utility)), utility.shape)
    return int(at), int(slot)
