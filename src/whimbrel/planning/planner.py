"""``plan``: one question, any planner by name, one Plan as the answer.

Planners that know the limit (``ssm``, ``simple-ssm``, ``any-map``, ``mtm``) say "infeasible" when they cannot keep it.
The baselines do not look at it: their plans always exist, and say in ``reason`` when they break the limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from whimbrel.model import Assignment, BadInput, Load, Plan
from whimbrel.model.load import Number
from whimbrel.planning import any_map, consistent_hashing, even, feasibility, hash_modulo, redist, ssm
from whimbrel.planning.instance import Instance, plain, positive_capacities
from whimbrel.planning.proposal import Proposal

Planner = Callable[..., Proposal]


def plan(
    planner: str,
    load: Load,
    current: Assignment,
    slots: int,
    tau: float | str,
    *,
    give_up: Iterable[int] = (),
    capacities: Sequence[Number] | None = None,
    current_slots: int = 0,
    clip: bool = False,
    clock: Callable[[], float] = time.perf_counter,
    **options: Any,
) -> Plan:
    """What should move where, to end with at most ``slots`` slots under the limit (1 + tau) * work / slots.

    ``give_up`` names slots that must end empty. ``capacities[slot]`` scales a slot's limit. ``current_slots`` counts
    the slots of now where trailing ones are empty. ``clip`` cuts heavy bins down to the limit instead of giving up,
    and says so. Other options go to the planner: ``engine`` (ssm), ``seed`` and ``virtual_nodes``
    (consistent-hashing), ``weight`` and ``slack`` (redist, scan), ``projected``, ``gamma`` and ``drift`` (mtm).
    Equal questions get equal plans. Raises BadInput on an unknown planner or option, or an input that cannot be used.

    >>> load = Load(work=(5, 1, 1, 5), state=(50, 10, 10, 50))
    >>> answer = plan("ssm", load, Assignment((0, 0, 0, 1)), slots=2, tau=0.1)
    >>> answer.intervals, answer.cost, answer.max_load
    (((0, 2), (2, 4)), 10, 6)
    """
    if planner not in PLANNERS:
        raise BadInput(f"there is no planner {planner!r}: choose one of {', '.join(PLANNERS)}")
    started = clock()
    given_up = frozenset(int(slot) for slot in give_up)
    instance = Instance(load, current, slots, tau, given_up, positive_capacities(capacities), max(current_slots, 0))
    asked = feasibility.clipped(instance) if clip else instance
    proposal = _ask(planner, asked, options)
    return answered(planner, instance, proposal, clipped=asked.load != load, seconds=clock() - started)


def _ask(planner: str, instance: Instance, options: dict[str, Any]) -> Proposal:
    known = OPTIONS.get(planner, ())
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise BadInput(f"planner {planner} has no option {unknown[0]!r}: it knows {', '.join(known) or 'none'}")
    return PLANNERS[planner](instance, **options)


def answered(planner: str, instance: Instance, proposal: Proposal, clipped: bool, seconds: float) -> Plan:
    """The Plan that a proposal amounts to: every figure computed anew from the target, exactly."""
    target = proposal.target
    total = instance.total_state
    cost = instance.cost_of(target) if target is not None else 0
    by_slot = instance.work_by_slot(target) if target is not None else {}
    reasons = [proposal.reason] if proposal.reason else []
    if clipped and target is not None:
        reasons.append("bins heavier than the limit were counted as the limit")
    over = [slot for slot, work in by_slot.items() if work > instance.limit_of(slot)]
    if over and not clipped:
        reasons.append(f"slot {over[0]} is over its limit: {planner} does not look at the limit")
    return Plan(
        planner=planner,
        feasible=target is not None,
        slots=instance.slots,
        tau=float(instance.tau),
        current=instance.current,
        target=target,
        cost=cost,
        gain=_difference(total, cost) if target is not None else 0,
        lower_bound=proposal.lower_bound,
        limit=float(instance.limit.value),
        max_load=plain(max(by_slot.values(), default=Fraction(0))),
        hash_cost=hash_modulo.hash_cost(instance),
        seconds=seconds,
        reason="; ".join(reasons),
        smallest_tau=proposal.smallest_tau,
        projected_cost=proposal.projected_cost,
        limits=_limits(instance) if instance.capacities else (),
    )


def _limits(instance: Instance) -> tuple[float, ...]:
    """What each slot may carry, up to the last one that may be used; nothing where it must be given up."""
    usable = set(instance.usable_slots)
    return tuple(float(instance.limit_of(slot)) if slot in usable else 0.0 for slot in range(max(usable) + 1))


def _difference(total: Number, cost: Number) -> Number:
    return plain(Fraction(repr(total)) - Fraction(repr(cost)))


def contiguous_infeasible(instance: Instance) -> Proposal:
    """The answer "it cannot be done" of every planner on intervals, with the smallest tau that works."""
    smallest = _tau_that_works(instance)
    heaviest = max(range(instance.load.bins), key=lambda b: instance.load.work[b])
    shown = f"{float(instance.limit.value):g}"
    if instance.load.work[heaviest] > instance.limit.value:
        reason = f"bin {heaviest} alone carries {instance.load.work[heaviest]:g} of work, over the limit {shown}"
    else:
        reason = f"no {instance.slots} intervals keep the limit {shown}"
    reason += f"; the smallest tau that works is {smallest:.6g}"
    return Proposal(None, reason=reason, smallest_tau=smallest)


def _ssm(instance: Instance, engine: str = "auto") -> Proposal:
    if instance.capacities:
        from whimbrel.planning.ssm_capacities import solve_capacities

        target = solve_capacities(instance)
    else:
        intervals = ssm.solve(instance, engine)
        target = None if intervals is None else ssm.target_of(instance, intervals)
    if target is None:
        return contiguous_infeasible(instance)
    return Proposal(target, lower_bound=instance.cost_of(target))


def _simple_ssm(instance: Instance) -> Proposal:
    from whimbrel.planning.simple_ssm import simple_ssm

    _refuse_capacities("simple-ssm", instance)
    intervals = simple_ssm(instance)
    if intervals is None:
        return contiguous_infeasible(instance)
    target = ssm.target_of(instance, intervals)
    return Proposal(target, lower_bound=instance.cost_of(target))


def _refuse_capacities(planner: str, instance: Instance) -> None:
    if instance.capacities:
        raise BadInput(f"planner {planner} knows only slots of equal capacity: use ssm or any-map")


def _any_map(instance: Instance) -> Proposal:
    target, bound = any_map.any_map(instance)
    contiguous = None if target is not None and instance.cost_of(target) <= bound else _cut(instance)
    if contiguous is not None and (target is None or instance.cost_of(contiguous) < instance.cost_of(target)):
        target = contiguous
    if target is not None:
        return Proposal(target, bound)
    heaviest, tau = max(instance.load.work), _tau_that_works(instance)
    reason = f"no packing under the limit {float(instance.limit.value):g} was found; the heaviest bin is {heaviest:g}"
    return Proposal(None, reason=f"{reason}; tau {tau:.6g} works for certain", smallest_tau=tau)


def _cut(instance: Instance) -> Assignment | None:
    """A plan by cuts: bins that may go anywhere never need to move more than contiguous ones."""
    if instance.capacities:
        return None
    if instance.is_contiguous:
        intervals = ssm.solve(instance)
        return None if intervals is None else ssm.target_of(instance, intervals)
    part_of_bin = feasibility.greedy_parts(ssm.reach_within(instance), instance.slots)
    return None if part_of_bin is None else even.matched(instance, part_of_bin, int(part_of_bin[-1]) + 1)


def _tau_that_works(instance: Instance) -> float:
    """The smallest tau at which a contiguous plan exists; within 1e-6 with slots of unequal capacity."""
    if not instance.capacities:
        return feasibility.smallest_tau(instance)
    from whimbrel.planning.ssm_capacities import tau_for_capacities

    return tau_for_capacities(instance)


def _mtm(
    instance: Instance, projected: str | Path | None = None, gamma: float | None = None, drift: bool = False
) -> Proposal:
    from whimbrel.planning.mtm_planner import propose

    if projected is None:
        raise BadInput("planner mtm needs projected costs: pass projected=DIR as written by `whimbrel mtm project`")
    _refuse_capacities("mtm", instance)
    return propose(instance, Path(projected), gamma, drift)


def _loose(instance: Instance, target: Assignment) -> Proposal:
    """A baseline's proposal: the bound is for plans as balanced as this one, or as the limit asks."""
    limits = {slot: instance.limit_of(slot) for slot in instance.usable_slots}
    work = instance.work_by_slot(target)
    most = max(*limits.values(), *work.values())
    return Proposal(target, any_map.any_map_bound(instance, most))


def _even(instance: Instance) -> Proposal:
    return _loose(instance, even.even_split(instance))


def _consistent_hashing(instance: Instance, seed: int = 0, virtual_nodes: int = 100) -> Proposal:
    slots = instance.usable_slots[: instance.slots]
    ring = consistent_hashing.ring_assignment(instance.load.bins, slots, seed, virtual_nodes)
    return _loose(instance, ring)


def _redist(instance: Instance, weight: float = 1.0, slack: float = 0.2) -> Proposal:
    return _loose(instance, redist.redist(instance, weight, slack))


def _scan(instance: Instance, weight: float = 1.0, slack: float = 0.2) -> Proposal:
    return _loose(instance, redist.scan(instance, weight, slack))


def _hash(instance: Instance) -> Proposal:
    slots = instance.usable_slots[: instance.slots]
    return _loose(instance, hash_modulo.hash_assignment(instance.load.bins, slots))


PLANNERS: dict[str, Planner] = {
    "ssm": _ssm,
    "simple-ssm": _simple_ssm,
    "any-map": _any_map,
    "mtm": _mtm,
    "even": _even,
    "consistent-hashing": _consistent_hashing,
    "redist": _redist,
    "scan": _scan,
    "hash": _hash,
}
"""Every planner by its name, the ones that keep the limit first."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "ssm": ("engine",),
    "mtm": ("projected", "gamma", "drift"),
    "consistent-hashing": ("seed", "virtual_nodes"),
    "redist": ("weight", "slack"),
    "scan": ("weight", "slack"),
}
"""The options that each planner knows beside those of every planner."""
