"""Any bins anywhere: the least state moved under the limit when bins need not stay contiguous.

Finding the optimum is bin packing, so with more than a few bins this planner is a heuristic with a bound beside it.

* Bound. Each slot that stays keeps at most its best knapsack, and at most ``slots`` of them stay. Whatever is kept by no
  slot must move.
* Plan. Each slot keeps its best knapsack; where there are too many slots, those that keep least give everything up;
  what is left goes, heaviest first, where it fits tightest. If something does not fit, the slots keep a little less and
  it is tried again, down to packing everything anew. Then bins that could have stayed go home, alone or by exchange.

Equal loads break ties by bin and slot number, so the same question always gets the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from whimbrel.model import Assignment
from whimbrel.model.load import Number
from whimbrel.planning.any_map_exact import any_map_exact
from whimbrel.planning.instance import Instance, plain
from whimbrel.planning.knapsack import best_keep

KEEP_PERCENTS = (100, 99, 98, 96, 93, 90, 85, 80, 70, 60, 40, 0)


@dataclass
class _Packing:
    """Bins on slots, with the room that is left under each slot's limit, in the unit of the scaled work."""

    work: list[int]
    state: list[int]
    home: tuple[int, ...]
    room: dict[int, int]
    slot_of: dict[int, int] = field(default_factory=dict)

    def put(self, b: int, slot: int) -> None:
        if b in self.slot_of:
            self.room[self.slot_of[b]] += self.work[b]
        self.slot_of[b] = slot
        self.room[slot] -= self.work[b]


def any_map(instance: Instance) -> tuple[Assignment | None, Number]:
    """(a plan under the limit that moves little, a bound that holds for all); None where no packing was found.

    With few bins an exact search settles the rest: then the plan is the best, and equal to its bound.
    """
    limits, bound = slot_limits(instance), any_map_bound(instance)
    target = _packed_and_sent_home(instance, limits)
    if target is not None and instance.cost_of(target) <= bound:
        return target, bound
    kept = -1 if target is None else _kept(instance, target)
    better, proven = any_map_exact(instance, limits, kept)
    target = better if better is not None else target
    return target, instance.cost_of(target) if proven and target is not None else bound


def _packed_and_sent_home(instance: Instance, limits: dict[int, int]) -> Assignment | None:
    for percent in KEEP_PERCENTS:
        packing = _packed(instance, limits, percent)
        if packing is not None:
            _send_home(packing)
            return Assignment(tuple(packing.slot_of[b] for b in range(instance.load.bins)))
    return None


def _kept(instance: Instance, target: Assignment) -> int:
    state = instance.scaled_state[0]
    return sum(state[b] for b, slot in enumerate(target.owner) if slot == instance.current.owner[b])


def any_map_bound(instance: Instance, limit: Fraction | None = None) -> Number:
    """No plan under the limit moves less than this. ``limit`` replaces the instance's own, for looser plans."""
    state, scale = instance.scaled_state
    limits = slot_limits(instance) if limit is None else _all_slots(instance, limit)
    keeps = sorted((_bound_of(instance, slot, most) for slot, most in limits.items()), reverse=True)
    moved = sum(state) - sum(keeps[: instance.slots], Fraction(0))
    return plain(Fraction(-(-moved.numerator // moved.denominator), scale))


def slot_limits(instance: Instance) -> dict[int, int]:
    """Each usable slot's limit in the unit of the scaled work, rounded down."""
    scale = instance.scaled_work[1]
    return {slot: int(instance.limit_of(slot) * scale) for slot in instance.usable_slots}


def _all_slots(instance: Instance, limit: Fraction) -> dict[int, int]:
    most = int(limit * instance.scaled_work[1])
    return dict.fromkeys(instance.usable_slots, most)


def _bound_of(instance: Instance, slot: int, limit: int) -> Fraction:
    bins = instance.bins_by_slot.get(slot, [])
    work, state = instance.scaled_work[0], instance.scaled_state[0]
    return best_keep([work[b] for b in bins], [state[b] for b in bins], limit)[1]


def _packed(instance: Instance, limits: dict[int, int], percent: int) -> _Packing | None:
    work, state = instance.scaled_work[0], instance.scaled_state[0]
    kept = {slot: _kept_by(instance, slot, most * percent // 100) for slot, most in limits.items()}
    worth = {slot: sum(state[b] for b in bins) for slot, bins in kept.items()}
    staying = sorted(limits, key=lambda slot: (-worth[slot], -limits[slot], slot))[: instance.slots]
    packing = _Packing(work, state, instance.current.owner, {slot: limits[slot] for slot in staying})
    for slot in staying:
        for b in kept[slot]:
            packing.put(b, slot)
    waiting = [b for b in range(len(work)) if b not in packing.slot_of]
    for b in sorted(waiting, key=lambda b: (-work[b], -state[b], b)):
        tightest = _tightest(packing, work[b])
        if tightest is None:
            return None
        packing.put(b, tightest)
    return packing


def _kept_by(instance: Instance, slot: int, limit: int) -> list[int]:
    bins = instance.bins_by_slot.get(slot, [])
    work, state = instance.scaled_work[0], instance.scaled_state[0]
    return [bins[i] for i in best_keep([work[b] for b in bins], [state[b] for b in bins], limit)[0]]


def _tightest(packing: _Packing, work: int) -> int | None:
    fitting = [(room, slot) for slot, room in packing.room.items() if room >= work]
    return min(fitting)[1] if fitting else None


def _send_home(packing: _Packing) -> None:
    """Moves strayed bins back while that helps: alone, or by exchange with a bin that does not belong there."""
    strayed = [b for b, slot in packing.slot_of.items() if slot != packing.home[b] and packing.home[b] in packing.room]
    for b in sorted(strayed, key=lambda b: (-packing.state[b], b)):
        home = packing.home[b]
        if packing.room[home] >= packing.work[b]:
            packing.put(b, home)
            continue
        guest = _exchangeable(packing, b)
        if guest is not None:
            away = packing.slot_of[b]
            packing.put(b, home)
            packing.put(guest, away)


def _exchangeable(packing: _Packing, b: int) -> int | None:
    """A guest (or a smaller resident) of b's home that b's present slot can take instead."""
    home, away = packing.home[b], packing.slot_of[b]
    best: tuple[int, int] | None = None
    for other, slot in packing.slot_of.items():
        if slot != home:
            continue
        difference = packing.work[b] - packing.work[other]
        fits = packing.room[home] >= difference and packing.room[away] >= -difference
        lost = packing.state[other] if packing.home[other] == home else 0
        if packing.home[other] == away:
            lost -= packing.state[other]
        if fits and lost < packing.state[b] and (best is None or (lost, other) < best):
            best = (lost, other)
    return best[1] if best else None
