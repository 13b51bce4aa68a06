"""Single-step migration: the contiguous plan that moves the least and keeps every slot under its limit.

At most ``slots`` intervals, each kept by one slot; slots left without an interval end empty. Always optimal: whichever
engine answers, its gain is the gain of every other.

Engines. ``plain`` runs the kernels' source in Python, ``layered`` runs it compiled, both to the same plan;
``lagrangian`` needs no layers and certifies itself, falling back to layers where it cannot. ``auto`` goes by layers
while they are few, plainly until something has been compiled in this process (``warm()`` compiles), and takes
``lagrangian`` where they are many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whimbrel.model import Assignment, BadInput
from whimbrel.planning.instance import Instance, Integers

LAYERED_CELLS_MAX = 150_000
"""Table cells up to which ``auto`` goes by layers: Python fills so many in less time than a compiler takes to start.

The same bound with and without compiled kernels, so that a question gets the same plan in every process.
"""

ENGINES = ("auto", "plain", "layered", "lagrangian")


@dataclass(frozen=True)
class Intervals:
    """A contiguous plan: ascending ``cuts`` 0..m and, per interval, the old interval whose slot keeps it or -1."""

    gain: int
    cuts: tuple[int, ...]
    keepers: tuple[int, ...]


def solve(instance: Instance, engine: str = "auto") -> Intervals | None:
    """The intervals that keep the most state in place, or None where no plan keeps the limit."""
    if engine not in ENGINES:
        raise BadInput(f"there is no engine {engine!r}: choose one of {', '.join(ENGINES)}")
    reach = reach_within(instance)
    boundaries, state = instance.boundaries, instance.keepable_state
    slots = min(instance.slots, instance.load.bins)
    gain, cuts, keepers = _run(_choose(engine, reach, slots), reach, state, boundaries, slots)
    if gain < 0:
        return None
    return Intervals(int(gain), tuple(np.asarray(cuts).tolist()), tuple(np.asarray(keepers).tolist()))


def target_of(instance: Instance, intervals: Intervals) -> Assignment:
    """The assignment of a contiguous plan: intervals that nobody keeps go to the lowest unused slots, in order."""
    ids = instance.slot_ids
    kept = [ids[z] if z >= 0 and ids[z] not in instance.given_up else -1 for z in intervals.keepers]
    spare = iter(slot for slot in instance.usable_slots if slot not in set(kept))
    owners = [slot if slot >= 0 else next(spare) for slot in kept]
    owner: list[int] = []
    for slot, lower, upper in zip(owners, intervals.cuts, intervals.cuts[1:], strict=False):
        owner += [slot] * (upper - lower)
    return Assignment(tuple(owner))


def reach_within(instance: Instance) -> Integers:
    """``reach`` of every position under the exact limit, whatever the size of the numbers."""
    from whimbrel.planning.ssm_terrain import reach_of

    work = instance.whole_work
    if work is None or (instance.load.bins < LAYERED_CELLS_MAX and not compiled()):
        values, _ = instance.scaled_work
        return reach_of.py_func(values, instance.whole_limit)  # type: ignore[no-any-return]
    return reach_of(work, instance.whole_limit)  # type: ignore[no-any-return]


def compiled() -> bool:
    """Whether this process has loaded the compiled kernels already."""
    from whimbrel.planning.ssm_trace import plan_layers

    return bool(plan_layers.signatures)


def warm() -> None:
    """Loads or compiles the kernels now, so that later plans take microseconds."""
    from whimbrel.planning.ssm_layered import ssm_gain
    from whimbrel.planning.ssm_trace import plan_layers, ssm_boundaries

    ones = np.ones(2, np.int64)
    boundaries = np.array([0, 1, 2], np.int64)
    ssm_gain(ones, ones, boundaries, 2, 1)
    ssm_boundaries(ones, ones, boundaries, 2, 1)
    plan_layers(np.array([0, 0, 1]), ones, boundaries, 2, 2)


def _choose(engine: str, reach: Integers, slots: int) -> str:
    if engine != "auto":
        return engine
    from whimbrel.planning.ssm_terrain import band_of

    lowest, highest = band_of.py_func(reach.tolist(), slots)
    cells = int((highest - lowest).clip(0).sum()) + 2 * slots * len(reach) // 100
    if cells > LAYERED_CELLS_MAX:
        return "lagrangian"
    return "layered" if compiled() else "plain"


def _run(
    engine: str, reach: Integers, state: Integers, boundaries: Integers, slots: int
) -> tuple[int, Integers | list[int], Integers | list[int]]:
    if engine == "plain":
        from whimbrel.planning.ssm_plain import plan_plain

        return plan_plain(reach.tolist(), state.tolist(), boundaries.tolist(), slots)
    if engine == "lagrangian":
        from whimbrel.planning.ssm_lagrangian import plan_lagrangian

        gain, cuts, keepers, _ = plan_lagrangian(reach, state, boundaries, slots)
        return gain, cuts, keepers
    from whimbrel.planning.ssm_trace import plan_layers, stride_of

    return plan_layers(reach, state, boundaries, slots, stride_of.py_func(len(state), slots, 1 << 23))  # type: ignore[no-any-return]
