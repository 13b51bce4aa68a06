"""Loads that wander between migrations: what is left of look-ahead that was trained on the mean load?

Every bin's work and state carry factors of their own that wander around one, with a memory of 0.8 from one migration to
the next. The stored partitions of an exact projection go stale: their feasible share is measured. The additive form is
planned with instead, under the limit of the load at hand; a back-test on drifting history may switch it off. Migrations
to slot counts that the load of the moment cannot balance are left out for every planner alike. The baselines break the
limit: read their balance beside their cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.lookahead_settings import STATES, chains, loads, matrix_of, slot_history
from whimbrel.experiments.lookahead_walks import Walked
from whimbrel.experiments.results import plotting, save_picture, save_rows
from whimbrel.model import Assignment, Load
from whimbrel.planning.consistent_hashing import ring_assignment
from whimbrel.planning.even import even_split
from whimbrel.planning.instance import Instance
from whimbrel.planning.mtm_backtest import compare
from whimbrel.planning.mtm_choice import AdditiveChoice
from whimbrel.planning.mtm_matrix import TransitionMatrix
from whimbrel.planning.projection_additive import AdditiveCosts, Horizon, fit_additive
from whimbrel.planning.projection_count import census
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_overlap import kept
from whimbrel.planning.projection_program import Program, best_partition
from whimbrel.planning.projection_reach import IntArray, Reach
from whimbrel.planning.projection_space import FloatArray, Space, spaces_of
from whimbrel.planning.redist import redist

ID = "lookahead-drift"
CLAIM = "Look-ahead goes on saving when loads wander by 5, 15 and 30 % between migrations"

BASELINES: dict[str, Callable[[Instance, int], Assignment]] = {
    "even": lambda asked, seed: even_split(asked),
    "consistent-hashing": lambda asked, seed: ring_assignment(asked.load.bins, range(asked.slots), seed),
    "redist": lambda asked, seed: redist(asked),
}
"""A target from a question and the seed of a ring."""

SIGMAS = (0.05, 0.15, 0.3)
MEMORY = 0.8
TAU = "0.2"
GAMMA = 0.8
EXACT_MOST = 200_000
SHARE_SAMPLES = 10


@dataclass(frozen=True)
class Moment:
    """One migration: to how many slots, and the load at that time."""

    slots: int
    horizon: Horizon

    @property
    def bounds(self) -> Reach:
        """The reach of the slot count under the load of the moment."""
        return self.horizon.bounds[self.horizon.states.index(self.slots)]


def run(
    data: Path | None, out: Path, sigmas: Sequence[float] = SIGMAS, count: int = 20, length: int = 100
) -> dict[str, Any]:
    """Measures every load at every strength of drift; sizes are arguments."""
    matrix = matrix_of(slot_history(data)[0])
    rows: list[dict[str, Any]] = []
    for name, load in loads(data).items():
        measured = rows_of(ProjectionInstance(load, TAU, STATES, matrix.matrix, GAMMA), sigmas, count, length)
        rows += [{"load": name, **row} for row in measured]
    return summary(rows, out)


def rows_of(instance: ProjectionInstance, sigmas: Sequence[float], count: int, length: int) -> list[dict[str, Any]]:
    """Every planner at every strength of drift, for one load; the additive form is fitted to that load itself."""
    costs = fit_additive(instance, np.random.default_rng(7))
    spaces = list(spaces_of(instance).values()) if census(instance).total <= EXACT_MOST else []
    matrix = TransitionMatrix(instance.states, (), instance.matrix, ())
    drawn = chains(matrix, STATES, 2 * count, length)
    return [
        {"sigma": sigma, **row} for sigma in sigmas for row in _measure(instance, costs, spaces, drawn, sigma, count)
    ]


def summary(rows: list[dict[str, Any]], out: Path) -> dict[str, Any]:
    """The verdict, with picture and table written to ``out``."""
    saved = [row["saved_percent"] for row in rows if row["planner"] == "mtm-additive"]
    guarded = [row["saved_percent"] for row in rows if row["planner"] == "mtm-backtested"]
    return {
        "id": ID,
        "claim": CLAIM,
        "holds": all(value > 0 for value in saved),
        "backtested_never_loses_1_percent": all(value > -1.0 for value in guarded),
        "figures": [save_picture(_picture(rows), out, ID), save_rows(rows, out, ID)],
        "rows": rows,
    }


def _measure(
    instance: ProjectionInstance,
    costs: AdditiveCosts,
    spaces: list[Space],
    drawn: Sequence[Sequence[int]],
    sigma: float,
    count: int,
) -> list[dict[str, Any]]:
    moved: dict[str, list[list[float]]] = {name: [] for name in ("ssm", "mtm-additive", *BASELINES)}
    tops: dict[str, list[list[float]]] = {name: [] for name in moved}
    for index, chain in enumerate(drawn):
        moments = list(_drifting(instance, chain, sigma, np.random.default_rng(1000 + index)))
        walks = {"ssm": _walk(moments, None), "mtm-additive": _walk(moments, costs)}
        if index < count:
            walks |= {name: _walk_baseline(moments, name, index) for name in BASELINES}
        for planner, found in walks.items():
            moved[planner].append([cost for cost, _ in found])
            tops[planner].append([top for _, top in found])
    history = {name: [float(np.mean(costs)) for costs in moved[name][count:]] for name in ("ssm", "mtm-additive")}
    pays = compare(history["ssm"], history["mtm-additive"]).pays
    base, ahead = (_walked(moved[name][:count], tops[name][:count]) for name in ("ssm", "mtm-additive"))
    share = _feasible_share(instance, spaces, sigma) if spaces else None
    walked = {"ssm": base, "mtm-additive": ahead, "mtm-backtested": ahead if pays else base}
    walked |= {name: _walked(moved[name], tops[name]) for name in BASELINES}
    return [
        {"planner": name, "stored_partitions_feasible": share, **found.row(None if name == "ssm" else base)}
        for name, found in walked.items()
    ]


def _walked(moved: list[list[float]], tops: list[list[float]]) -> Walked:
    means = np.array([np.mean(chain) if chain else 0.0 for chain in moved])
    return Walked(means, np.array([np.mean(chain) if chain else 0.0 for chain in tops]))


def _drifting(
    instance: ProjectionInstance, chain: Sequence[int], sigma: float, random: np.random.Generator
) -> Iterator[Moment]:
    """The feasible moments of a chain, under a load that wanders."""
    wander = sigma * random.standard_normal((2, instance.load.bins))
    for slots in chain:
        moment = Moment(slots, Horizon.of(instance, _shaken(instance.load, wander)))
        if moment.bounds.feasible:
            yield moment
        fresh = sigma * random.standard_normal(wander.shape)
        wander = MEMORY * wander + np.sqrt(1 - MEMORY**2) * fresh


def _shaken(load: Load, wander: FloatArray) -> Load:
    # Three decimals are plenty, and keep the exact arithmetic on the limit fast.
    work, state = np.round(np.array([load.work, load.state]) * np.exp(wander), 3)
    return Load(tuple(work.tolist()), tuple(state.tolist()))


def _walk(moments: Sequence[Moment], costs: AdditiveCosts | None) -> list[tuple[float, float]]:
    """(share of the state moved, busiest slot over the mean) of every migration after the first."""
    found = []
    cuts: IntArray | None = None
    for moment in moments:
        prefix, bounds = moment.horizon.prefix, moment.bounds
        blind = Program.of(bounds, np.zeros((bounds.bins, max(1, bounds.widest))))
        following = best_partition(blind, np.zeros(0, np.int32) if cuts is None else cuts, prefix)
        if cuts is not None:
            if costs is not None:
                choice = AdditiveChoice(moment.horizon, costs)
                chosen = choice.choose(cuts.tolist(), moment.slots, prefix, following.tolist())
                following = np.array(chosen.cuts, np.int32)
            cost = float((prefix[-1] - kept(cuts, following, prefix)) / prefix[-1])
            found.append((cost, _top(moment, following)))
        cuts = following
    return found


def _walk_baseline(moments: Sequence[Moment], planner: str, seed: int) -> list[tuple[float, float]]:
    """The same for a planner that does not look at the limit."""
    found: list[tuple[float, float]] = []
    here: Assignment | None = None
    for moment in moments:
        load, slots = moment.horizon.load, moment.slots
        before = Assignment.even(load.bins, slots) if here is None else here
        after = BASELINES[planner](Instance(load, before, slots, TAU), seed)
        if here is not None:
            left = np.asarray(before.owner) != np.asarray(after.owner)
            work = np.bincount(after.owner, load.work)
            found.append((float(np.dot(load.state, left) / sum(load.state)), float(work.max() * slots / work.sum())))
        here = after
    return found


def _top(moment: Moment, cuts: IntArray) -> float:
    work = np.concatenate([[0.0], np.cumsum(np.asarray(moment.horizon.load.work, np.float64))])
    edges = np.concatenate([[0], cuts, [len(work) - 1]])
    return float(np.diff(work[edges]).max() * moment.slots / work[-1])


def _feasible_share(instance: ProjectionInstance, spaces: list[Space], sigma: float) -> float:
    """The share of the stored partitions that keep the limit of a drifted load, over some draws."""
    random = np.random.default_rng(17)
    shares = []
    for _ in range(SHARE_SAMPLES):
        drifted = _shaken(instance.load, sigma * random.standard_normal((2, instance.load.bins)))
        horizon = Horizon.of(instance, drifted)
        kept_limit = [_still(space, bounds) for space, bounds in zip(spaces, horizon.bounds, strict=True)]
        shares.append(np.concatenate(kept_limit).mean())
    return float(np.mean(shares))


def _still(space: Space, bounds: Reach) -> np.ndarray:
    """Per partition: whether every interval is still within reach."""
    starts = space.offset[:-1] + np.arange(space.size)
    x = np.zeros(len(space.cuts) + space.size, np.int64)
    first = np.zeros(len(x), bool)
    first[starts] = True
    x[~first] = space.cuts
    y = np.append(x[1:], 0)
    y[np.append(first[1:], True)] = space.bounds.bins
    within = y <= bounds.furthest[x]
    return np.logical_and.reduceat(within, starts) if space.size else np.zeros(0, bool)


def _picture(rows: list[dict[str, Any]]) -> Any:
    figure, axes = plotting().subplots(figsize=(5.5, 3.4), layout="constrained")
    for name in dict.fromkeys(row["load"] for row in rows):
        points = [row for row in rows if row["load"] == name and row["planner"] == "mtm-additive"]
        sigmas = [100 * row["sigma"] for row in points]
        saved = [row["saved_percent"] for row in points]
        axes.errorbar(sigmas, saved, [row["saved_ci"] for row in points], fmt="o-", capsize=2, label=name)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set(xlabel="drift between migrations, %", ylabel="saved against ssm, %")
    axes.legend()
    return figure
