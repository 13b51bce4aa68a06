"""Single-step migration with slots of unequal capacity, exactly.

Intervals and slots of one capacity are interchangeable unless an interval stays with its slot, so a program needs to
know how many slots of each capacity are used, not which. ``best[u][s][x]`` is the most state kept by covering the bins
before x with the slots counted in s, where u says whether the slot of the old interval around x was used. A slot that
keeps nothing counts like any other of its capacity; overlaps never cross, so no slot is used twice.

The number of count vectors s is the product over capacities of (slots of it + 1): exact answers are for a few kinds of
slots, not for hundreds of different ones.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
from numba import njit

from whimbrel.model import Assignment, BadInput
from whimbrel.planning.instance import Instance, Integers

NEVER = -(1 << 60)

CELLS_MAX = 30_000_000


def solve_capacities(instance: Instance) -> Assignment | None:
    """The contiguous target that moves the least, each slot under its own limit; None where there is none.

    Raises BadInput where the capacities are of too many kinds for an exact answer.
    """
    kinds = sorted({instance.limit_of(slot) for slot in instance.usable_slots})
    kind_of = {slot: kinds.index(instance.limit_of(slot)) for slot in instance.usable_slots}
    most_per_kind = [min(list(kind_of.values()).count(kind), instance.slots) for kind in range(len(kinds))]
    cells = prod(count + 1 for count in most_per_kind) * 2 * (instance.load.bins + 1)
    if cells > CELLS_MAX:
        raise BadInput(
            f"{len(kinds)} kinds of slots make {cells:,} cases, more than {CELLS_MAX:,}: round the capacities"
        )
    kinds_of_old = np.array([kind_of.get(slot, -1) for slot in instance.slot_ids], np.int64)
    reach = np.stack([_reach(instance, limit) for limit in kinds])
    state, boundaries = instance.keepable_state, instance.boundaries
    counts, strides = np.array(most_per_kind, np.int64), _strides(most_per_kind)
    best = _fill(reach, state, boundaries, kinds_of_old, counts, strides, instance.slots)
    found = _trace(best, reach, state, boundaries, kinds_of_old, counts, strides)
    return None if found[0][-1] != 0 else _target(instance, kind_of, *found)


def tau_for_capacities(instance: Instance) -> float:
    """A tau that works, at most 1e-6 above the smallest one. Contiguity of the current assignment plays no part."""
    start = Assignment.even(instance.load.bins, min(instance.old_slots, instance.load.bins))
    asked = replace(instance, current=start, current_slots=instance.old_slots, fixed_limit=None)
    low, high = 0.0, 1.0
    while solve_capacities(replace(asked, tau=high)) is None:
        low, high = high, 2 * high
    while high - low > 1e-6:
        middle = (low + high) / 2
        if solve_capacities(replace(asked, tau=middle)) is None:
            low = middle
        else:
            high = middle
    return high


def _reach(instance: Instance, limit: Fraction) -> Integers:
    from whimbrel.planning.ssm_terrain import reach_of

    values, scale = instance.scaled_work
    return reach_of.py_func(values, int(limit * scale))  # type: ignore[no-any-return]


def _strides(most_per_kind: list[int]) -> Integers:
    return np.array([prod(count + 1 for count in most_per_kind[:kind]) for kind in range(len(most_per_kind))], np.int64)


@njit(cache=True)
def _slots_in(code: int, counts: Integers, strides: Integers) -> int:
    total = 0
    for kind in range(len(counts)):
        total += code // strides[kind] % (counts[kind] + 1)
    return total


@njit(cache=True)
def _offers(
    best: Integers,
    code: int,
    left: int,
    x: int,
    kind: int,
    prefix: Integers,
    boundaries: Integers,
    kinds_of_old: Integers,
) -> tuple[int, int, int, int, int, int]:
    """The best ways to end with [left, x) on a slot of ``kind`` after the slots of ``code``.

    (value, keeper, used before) with the slot around x unused, and the same with it used.
    """
    around = np.searchsorted(boundaries, left, side="right") - 1
    inside = boundaries[around] < left
    free = best[1, code, left]
    used_value, used_keeper, used_before = NEVER, -1, 1
    value, keeper, before = free, -1, 1
    if inside and boundaries[around + 1] > x:
        value, before = best[0, code, left], 0
        used_value = free
    z = around
    while z < len(kinds_of_old) and boundaries[z] < x:
        kept = prefix[min(boundaries[z + 1], x)] - prefix[max(boundaries[z], left)]
        if kinds_of_old[z] == kind and kept > 0:
            u = 0 if inside and z == around else 1
            offer = best[u, code, left] + kept
            if boundaries[z + 1] > x:
                if offer > used_value:
                    used_value, used_keeper, used_before = offer, z, u
            elif offer > value:
                value, keeper, before = offer, z, u
        z += 1
    return value, keeper, before, used_value, used_keeper, used_before


@njit(cache=True)
def _fill(
    reach: Integers,
    state: Integers,
    boundaries: Integers,
    kinds_of_old: Integers,
    counts: Integers,
    strides: Integers,
    slots: int,
) -> Integers:
    m, codes = len(state), 1
    for kind in range(len(counts)):
        codes *= counts[kind] + 1
    prefix = np.zeros(m + 1, np.int64)
    prefix[1:] = np.cumsum(state)
    best = np.full((2, codes, m + 1), NEVER, np.int64)
    best[:, 0, 0] = 0
    for code in range(1, codes):
        if _slots_in(code, counts, strides) > slots:
            continue
        for x in range(1, m + 1):
            for kind in range(len(counts)):
                if code // strides[kind] % (counts[kind] + 1) == 0:
                    continue
                for left in range(reach[kind, x], x):
                    offer = _offers(best, code - strides[kind], left, x, kind, prefix, boundaries, kinds_of_old)
                    best[0, code, x] = max(best[0, code, x], offer[0])
                    best[1, code, x] = max(best[1, code, x], offer[0], offer[3])
    return best


@njit(cache=True)
def _trace(
    best: Integers,
    reach: Integers,
    state: Integers,
    boundaries: Integers,
    kinds_of_old: Integers,
    counts: Integers,
    strides: Integers,
) -> tuple[Integers, Integers, Integers]:
    """(cuts, keepers, kinds) from the right; the last cut is not 0 where there is no plan."""
    m = len(state)
    prefix = np.zeros(m + 1, np.int64)
    prefix[1:] = np.cumsum(state)
    code, u, x, count = np.argmax(best[1, :, m]), 1, m, 0
    cuts, keepers, kinds = np.full(m + 1, m), np.empty(m, np.int64), np.empty(m, np.int64)
    while x > 0 and best[u, code, x] >= 0:
        left, keeper, kind, before = _last(best, code, u, x, reach, prefix, boundaries, kinds_of_old, counts, strides)
        code, u, x = code - strides[kind], before, left
        cuts[count + 1], keepers[count], kinds[count] = left, keeper, kind
        count += 1
    return cuts[: count + 1], keepers[:count], kinds[:count]


@njit(cache=True)
def _last(
    best: Integers,
    code: int,
    u: int,
    x: int,
    reach: Integers,
    prefix: Integers,
    boundaries: Integers,
    kinds_of_old: Integers,
    counts: Integers,
    strides: Integers,
) -> tuple[int, int, int, int]:
    for kind in range(len(counts)):
        if code // strides[kind] % (counts[kind] + 1) == 0:
            continue
        for left in range(reach[kind, x], x):
            offer = _offers(best, code - strides[kind], left, x, kind, prefix, boundaries, kinds_of_old)
            if offer[0] == best[u, code, x]:
                return left, offer[1], kind, offer[2]
            if u == 1 and offer[3] == best[u, code, x]:
                return left, offer[4], kind, offer[5]
    return -1, -1, -1, -1


def _target(
    instance: Instance, kind_of: dict[int, int], cuts: Integers, keepers: Integers, kinds: Integers
) -> Assignment:
    ids = instance.slot_ids
    kept = {ids[z] for z in keepers.tolist() if z >= 0}
    owner = [0] * instance.load.bins
    spare = {kind: [s for s in kind_of if kind_of[s] == kind and s not in kept] for kind in set(kind_of.values())}
    for j in range(len(keepers) - 1, -1, -1):
        slot = ids[keepers[j]] if keepers[j] >= 0 else spare[int(kinds[j])].pop(0)
        owner[cuts[j + 1] : cuts[j]] = [slot] * int(cuts[j] - cuts[j + 1])
    return Assignment(tuple(owner))
