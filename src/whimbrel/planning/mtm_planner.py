"""The ``mtm`` planner: the next plan by its own cost and by what it makes of the migrations to come.

It reads a projection that ``whimbrel mtm project`` has written, refuses one that was made for another load, and says
in the reason when it plans by the additive form or when a back-test has switched look-ahead off.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from whimbrel.model import BadInput
from whimbrel.planning import feasibility, projection_store, ssm
from whimbrel.planning.instance import Instance
from whimbrel.planning.interval_matching import keepers_of
from whimbrel.planning.mtm_choice import AdditiveChoice, Choice, ExactChoice
from whimbrel.planning.projection_additive import AdditiveCosts, Horizon
from whimbrel.planning.projection_instance import tau_text
from whimbrel.planning.projection_problem import Problem
from whimbrel.planning.projection_reach import Reach, reach
from whimbrel.planning.projection_space import FloatArray
from whimbrel.planning.proposal import Proposal

READY_MOST = 4
"""Choosers kept ready: preparing one takes longer than choosing, and a drifting load needs a new one each time."""


@dataclass(frozen=True)
class Projection:
    """A stored projection in memory, ready to choose from. ``exact`` is None where only the additive form exists."""

    stamp: projection_store.Stamp
    exact: tuple[Problem, FloatArray] | None
    additive: AdditiveCosts
    ready: dict[Hashable, ExactChoice | AdditiveChoice] = field(default_factory=dict)

    def chooser(self, instance: Instance, gamma: float, drift: bool) -> ExactChoice | AdditiveChoice:
        """The chooser for one question: exact where the load is the projection's own, additive otherwise."""
        key = (gamma, drift, tau_text(instance.tau), instance.load)
        if key not in self.ready:
            if len(self.ready) >= READY_MOST:
                self.ready.clear()
            self.ready[key] = self._prepare(instance, gamma, drift)
        return self.ready[key]

    def _prepare(self, instance: Instance, gamma: float, drift: bool) -> ExactChoice | AdditiveChoice:
        if self.exact is not None and not drift:
            return ExactChoice(*self.exact, gamma)
        asked = replace(self.stamp.instance, tau=tau_text(instance.tau), gamma=gamma)
        return AdditiveChoice(Horizon.of(asked, instance.load), self.additive)

    def reaches(self) -> dict[int, Reach]:
        """The reach of every slot count under the projection's own load."""
        known = self.stamp.instance
        return {slots: reach(known.load, slots, known.tau) for slots in known.states}


def read_projection(folder: Path) -> Projection:
    """The projection in a folder. Raises BadInput or Damaged as ``projection_store`` says; reads a folder once."""
    stamp = folder / projection_store.INSTANCE
    changed = stamp.stat().st_mtime_ns if stamp.exists() else 0
    return _read_once(folder.absolute(), changed)


@lru_cache(maxsize=4)
def _read_once(folder: Path, changed: int) -> Projection:
    stamp = projection_store.read_stamp(folder)
    additive = projection_store.read_additive(folder, stamp.instance.digest)
    if stamp.method != "exact":
        return Projection(stamp, None, additive)
    problem = Problem.of(stamp.instance)
    return Projection(stamp, (problem, projection_store.read_costs(folder, problem)), additive)


def propose(instance: Instance, projected: Path, gamma: float | None = None, drift: bool = False) -> Proposal:
    """The look-ahead target for one question, the single-step target always among the candidates.

    ``gamma`` weighs the future in this choice (default: as projected; 0 is the single step). ``drift`` accepts a
    projection for another load of as many bins and plans with its additive form. Raises BadInput where the projection
    is stale, for another tau, or does not know the slot count.
    """
    projection = read_projection(projected)
    _check(projection, projected, instance, gamma, drift)
    single = ssm.solve(instance)
    if single is None:
        smallest = feasibility.smallest_tau(instance)
        reason = f"no {instance.slots} intervals keep the limit {float(instance.limit.value):g}"
        return Proposal(None, reason=f"{reason}; the smallest tau that works is {smallest:.6g}", smallest_tau=smallest)
    weight = projection.stamp.instance.gamma if gamma is None else gamma
    choice = _choose(projection, instance, single.cuts[1:-1], weight, drift)
    single_target = ssm.target_of(instance, single)
    same = choice.cuts == single.cuts[1:-1]
    target = single_target if same else ssm.target_of(instance, _intervals(instance, choice.cuts))
    bound = instance.cost_of(single_target)
    reason = _reason(projection, drift)
    return Proposal(target, lower_bound=bound, reason=reason, projected_cost=choice.projected_cost)


def _choose(projection: Projection, instance: Instance, single: Sequence[int], gamma: float, drift: bool) -> Choice:
    values, scale = instance.scaled_state
    shrunk = float(sum(values)) / scale / max(1.0, float(instance.whole_state.sum()))
    prefix = np.concatenate([[0.0], np.cumsum(instance.keepable_state * shrunk)])
    old = instance.boundaries[1:-1].tolist()
    strength = gamma if projection.stamp.enabled else 0.0
    return projection.chooser(instance, strength, drift).choose(old, instance.slots, prefix, single)


def _intervals(instance: Instance, cuts: tuple[int, ...]) -> ssm.Intervals:
    edges = (0, *cuts, instance.load.bins)
    prefix = np.concatenate([[0], np.cumsum(instance.keepable_state)])
    gain, kept = keepers_of(prefix, instance.boundaries, np.array(edges, np.int64))
    return ssm.Intervals(int(gain), edges, tuple(kept.tolist()))


def _check(projection: Projection, folder: Path, instance: Instance, gamma: float | None, drift: bool) -> None:
    known = projection.stamp.instance
    if instance.fixed_limit is not None:
        raise BadInput("planner mtm does not clip heavy bins: its projection knows the true limit only; raise tau")
    if known.load.bins != instance.load.bins:
        raise BadInput(f"{folder} was projected for {known.load.bins} bins, not {instance.load.bins}: project again")
    if not drift:
        projection_store.refuse_stale(folder, projection.stamp, instance.load, instance.tau)
    if instance.slots not in known.states:
        raise BadInput(
            f"{folder} knows the slot counts {list(known.states)}, not {instance.slots}: "
            "project again with it among the states, or use planner ssm"
        )
    if gamma is not None and not 0 <= gamma < 1:
        raise BadInput(f"gamma is {gamma}: it must be at least 0 and less than 1")


def _reason(projection: Projection, drift: bool) -> str:
    if not projection.stamp.enabled:
        return "look-ahead is off: a back-test found that it does not pay"
    if projection.exact is None or drift:
        return "planned by the additive form of the projected costs"
    return ""
