"""Any bins anywhere, exactly, for few bins: depth first with a bound, the heaviest bins first.

Settles what the heuristic leaves open: whether a tight packing exists, and whether a cheaper one does. Gives up, and
says so, after ``NODES_MAX`` steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whimbrel.model import Assignment
from whimbrel.planning.instance import Instance

BINS_MAX = 24
NODES_MAX = 60_000


@dataclass
class _Search:
    """The packing being built, the best one found, and what the bins not yet placed could still keep."""

    work: list[int]
    state: list[int]
    home: tuple[int, ...]
    order: list[int]
    room: dict[int, int]
    slots: int
    hope: list[int]
    best: int
    found: dict[int, int] | None = None
    placed: dict[int, int] = field(default_factory=dict)
    opened: dict[int, int] = field(default_factory=dict)
    nodes: int = 0

    def place(self, at: int, kept: int) -> None:
        """Tries every slot for the bin at this place of the order, its home first."""
        self.nodes += 1
        if self.nodes > NODES_MAX or kept + self.hope[at] <= self.best:
            return
        if at == len(self.order):
            self.best, self.found = kept, dict(self.placed)
            return
        b = self.order[at]
        for slot in self._slots_for(b, at):
            self.room[slot] -= self.work[b]
            self.opened[slot] = self.opened.get(slot, 0) + 1
            self.placed[b] = slot
            self.place(at + 1, kept + (self.state[b] if slot == self.home[b] else 0))
            self.opened[slot] -= 1
            self.room[slot] += self.work[b]

    def _slots_for(self, b: int, at: int) -> list[int]:
        full = sum(count > 0 for count in self.opened.values()) == self.slots
        still_home = {self.home[later] for later in self.order[at:]}
        alike: set[int] = set()
        fitting = []
        for slot in sorted(self.room, key=lambda slot: (slot != self.home[b], self.room[slot], slot)):
            is_open = self.opened.get(slot, 0) > 0
            if self.room[slot] < self.work[b] or (full and not is_open):
                continue
            if not is_open and slot not in still_home:
                if self.room[slot] in alike:
                    continue
                alike.add(self.room[slot])
            fitting.append(slot)
        return fitting


def any_map_exact(instance: Instance, limits: dict[int, int], at_least: int) -> tuple[Assignment | None, bool]:
    """(the best plan that keeps more than ``at_least`` of the scaled state, whether that is proven to be the best)."""
    work, state, home = instance.scaled_work[0], instance.scaled_state[0], instance.current.owner
    if len(work) > BINS_MAX:
        return None, False
    order = sorted(range(len(work)), key=lambda b: (-work[b], -state[b], b))
    hope = [0]
    for b in reversed(order):
        hope.append(hope[-1] + (state[b] if home[b] in limits else 0))
    search = _Search(work, state, home, order, dict(limits), instance.slots, hope[::-1], at_least)
    search.place(0, 0)
    target = None
    if search.found is not None:
        target = Assignment(tuple(search.found[b] for b in range(len(work))))
    return target, search.nodes <= NODES_MAX
