"""A hundred migrations drawn from the matrix, load and state fixed: does looking ahead move less?

Twenty chains per load and tau, the same for every planner. ``mtm-exact`` looks ahead by the costs of all partitions,
where they can be listed, ``mtm-additive`` by a sum over intervals, everywhere; ``mtm-backtested`` is the better known of
the two behind a back-test on twenty other chains of the same matrix. ``hindsight`` knows each chain in advance and has
all partitions to choose from, ``hindsight-among`` only the places that the other planners on intervals came by. The
baselines break the limit: read their balance beside their cost. Slot counts that no plan can balance are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.lookahead_settings import STATES, chains, loads, matrix_of, slot_history
from whimbrel.experiments.lookahead_walks import (
    Place,
    Walked,
    hindsight,
    hindsight_among,
    walk_assignments,
    walk_cuts,
)
from whimbrel.experiments.results import plotting, save_picture, save_rows
from whimbrel.model import Load
from whimbrel.planning.mtm_backtest import Step, compare, look_ahead, single_step
from whimbrel.planning.mtm_choice import AdditiveChoice, ExactChoice
from whimbrel.planning.mtm_matrix import TransitionMatrix
from whimbrel.planning.projection_additive import Horizon, fit_additive
from whimbrel.planning.projection_count import census
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_iteration import iterate, solve_here, start
from whimbrel.planning.projection_problem import Problem
from whimbrel.planning.projection_reach import IntArray, reach
from whimbrel.planning.projection_space import FloatArray

ID = "lookahead-chains"
CLAIM = "MTM-aware migration moves less than the best single step, at every tau and the more the larger gamma"

TAUS = ("0.1", "0.2", "0.3")
GAMMAS = (0.0, 0.5, 0.8, 0.95)
EXACT_MOST = 200_000
WORST_LOSS_PERCENT = 1.0
BASELINES = ("even", "consistent-hashing", "redist")
SHOWN_TAU = "0.2"

Row = dict[str, Any]


def run(
    data: Path | None,
    out: Path,
    taus: Sequence[str] = TAUS,
    gammas: Sequence[float] = GAMMAS,
    count: int = 20,
    length: int = 100,
    hindsight_chains: int = 20,
) -> dict[str, Any]:
    """Measures every load, tau and gamma; sizes are arguments, so that a small run stays small."""
    matrix = matrix_of(slot_history(data)[0])
    rows: list[Row] = []
    for name, load in loads(data).items():
        for tau in taus:
            setting = Setting.of(load, tau, matrix, count, length)
            measured = rows_of(setting, gammas, hindsight_chains) if setting else [{"planner": "none"}]
            rows += [{"load": name, "tau": tau, **row} for row in measured]
    return summary(rows, out)


@dataclass(frozen=True)
class Setting:
    """One load at one tau: the chains to walk, those to learn from, and the single step between any two of its places.

    ``problem`` lists all partitions, or is None where they are too many.
    """

    instance: ProjectionInstance
    feasible: tuple[int, ...]
    test: Sequence[Sequence[int]]
    history: Sequence[Sequence[int]]
    single: Step
    prefix: FloatArray
    problem: Problem | None

    @staticmethod
    def of(load: Load, tau: str, matrix: TransitionMatrix, count: int, length: int) -> Setting | None:
        """The setting, or None where fewer than two slot counts are feasible: there is nowhere to migrate."""
        bounds = {slots: reach(load, slots, tau) for slots in STATES}
        feasible = tuple(slots for slots in STATES if bounds[slots].feasible)
        if len(feasible) < 2:
            return None
        instance = ProjectionInstance(load, tau, STATES, matrix.matrix, 0.8)
        drawn = chains(matrix, feasible, 2 * count, length)
        prefix = np.concatenate([[0.0], np.cumsum(np.asarray(load.state, np.float64))])
        problem = Problem.of(instance) if census(instance).total <= EXACT_MOST else None
        return Setting(instance, feasible, drawn[:count], drawn[count:], single_step(bounds, prefix), prefix, problem)

    def first(self, slots: int) -> IntArray:
        """Where every chain begins: the cheapest cuts from nowhere."""
        return self.single(np.zeros(0, np.int32), slots)

    def walk(self, step: Step, among: Sequence[Sequence[int]]) -> Walked:
        """The chains as a planner walks them."""
        return walk_cuts(self.instance.load, self.first, step, among)


def rows_of(setting: Setting, gammas: Sequence[float], hindsight_chains: int) -> list[Row]:
    """Every planner on every chain of a setting."""
    base = setting.walk(setting.single, setting.test)
    places = set(base.visited)
    rows = [_row("ssm", None, base, None)]
    for gamma in gammas:
        found, visited = ahead(setting, gamma, base)
        rows += found
        places |= visited
    rows.append(_row("hindsight-among", None, known_places(setting, frozenset(places)), base))
    if setting.problem is not None and hindsight_chains:
        walked = hindsight(setting.problem, setting.first, setting.test[:hindsight_chains])
        rows.append(_row("hindsight", None, walked, base))
    return [*rows, *baselines(setting, base)]


def ahead(setting: Setting, gamma: float, base: Walked) -> tuple[list[Row], frozenset[Place]]:
    """Every form of look-ahead at one gamma, and the places that it came by."""
    steps = dict(_steps(replace(setting.instance, gamma=gamma), setting))
    walked = {name: setting.walk(step, setting.test) for name, step in steps.items()}
    best = list(steps)[-1]
    past = [setting.walk(step, setting.history).moved.tolist() for step in (setting.single, steps[best])]
    guarded = walked[best] if compare(*past).pays else base
    rows = [_row(name, gamma, found, base) for name, found in {**walked, "mtm-backtested": guarded}.items()]
    return rows, frozenset().union(*(found.visited for found in walked.values()))


def _steps(instance: ProjectionInstance, setting: Setting) -> Iterator[tuple[str, Step]]:
    """Look-ahead in each form that this setting allows, the best known last."""
    # Discounted by nothing, no fit counts: the shortest will do.
    samples, rounds = (300, 30) if instance.gamma else (1, 1)
    costs = fit_additive(instance, np.random.default_rng(7), samples, rounds)
    yield "mtm-additive", look_ahead(AdditiveChoice(Horizon.of(instance), costs), setting.single, setting.prefix)
    if setting.problem is not None:
        asked = replace(setting.problem, instance=instance)
        end = iterate(asked, solve_here, start(asked), lambda progress: None, tolerance=1e-6)
        choice = ExactChoice(asked, end.costs, instance.gamma)
        yield "mtm-exact", look_ahead(choice, setting.single, setting.prefix)


def known_places(setting: Setting, places: frozenset[Place]) -> Walked:
    """Hindsight among the places that planners came by."""
    return hindsight_among(places, setting.prefix, setting.first, setting.test)


def baselines(setting: Setting, base: Walked) -> list[Row]:
    """The planners that do not look at the limit."""
    load, tau = setting.instance.load, setting.instance.tau
    return [
        _row(name, None, walk_assignments(name, load, tau, setting.test, name == "consistent-hashing"), base)
        for name in BASELINES
    ]


def _row(planner: str, gamma: float | None, found: Walked, base: Walked | None) -> Row:
    return {"planner": planner, "gamma": gamma, **found.row(base)}


def summary(rows: list[Row], out: Path) -> dict[str, Any]:
    """The verdict, with picture and table written to ``out``."""
    looking = [row for row in rows if row["planner"].startswith("mtm") and row["gamma"] > 0]
    guarded = [row for row in looking if row["planner"] == "mtm-backtested"]
    bare = [row for row in looking if row["planner"] != "mtm-backtested"]
    return {
        "id": ID,
        "claim": CLAIM,
        "holds": bool(bare) and all(row["saved_percent"] > 0 for row in bare) and not _falls(bare),
        "loses_at": [_place(row) for row in bare if row["saved_percent"] <= 0],
        "falls_with_gamma_at": _falls(bare),
        "backtested_never_loses_1_percent": all(row["saved_percent"] > -WORST_LOSS_PERCENT for row in guarded),
        "figures": [save_picture(_picture(rows), out, ID), save_rows(rows, out, ID)],
        "rows": rows,
    }


def _falls(rows: list[Row]) -> list[str]:
    """Where the saving is smaller at a larger gamma by more than both confidence intervals."""
    found = []
    for row in rows:
        for other in rows:
            same = all(row[key] == other[key] for key in ("load", "tau", "planner"))
            less = other["saved_percent"] + other["saved_ci"] < row["saved_percent"] - row["saved_ci"]
            if same and other["gamma"] > row["gamma"] and less:
                found.append(_place(other))
    return sorted(set(found))


def _place(row: Row) -> str:
    return f"{row['load']}, tau {row['tau']}, gamma {row['gamma']}, {row['planner']}"


def _picture(rows: list[Row]) -> Any:
    names = list(dict.fromkeys(row["load"] for row in rows))
    size = (4.2 * len(names), 7)
    figure, panels = plotting().subplots(2, len(names), figsize=size, layout="constrained", squeeze=False)
    for upper, lower, name in zip(*panels, names, strict=True):
        here = [row for row in rows if row["load"] == name]
        _draw_savings(upper, here)
        _draw_trades(lower, [row for row in here if row["tau"] == SHOWN_TAU and row.get("balance")])
        upper.set_title(f"load: {name}")
    panels[0, 0].set_ylabel("saved against ssm, %")
    panels[1, 0].set_ylabel("state moved per migration, %")
    return figure


def _draw_savings(axes: Any, rows: list[Row]) -> None:
    for color, tau in enumerate(TAUS):
        for planner, style in (("mtm-exact", "o-"), ("mtm-additive", "s--")):
            points = [row for row in rows if (row["tau"], row["planner"]) == (tau, planner)]
            if points:
                gammas = [row["gamma"] + 0.006 * (planner == "mtm-additive") for row in points]
                saved, errors = ([row[key] for row in points] for key in ("saved_percent", "saved_ci"))
                label = f"{planner.removeprefix('mtm-')}, tau {tau}"
                axes.errorbar(gammas, saved, errors, fmt=style, color=f"C{color}", capsize=2, label=label)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("gamma")
    axes.legend(fontsize=7)


def _draw_trades(axes: Any, rows: list[Row]) -> None:
    """Cost against balance of every planner, one dot each; look-ahead at its second largest gamma."""
    gammas = sorted({row["gamma"] for row in rows if row["gamma"] is not None})
    shown = gammas[-2:][:1]
    for row in rows:
        if row["gamma"] is None or row["gamma"] in shown:
            axes.plot(row["balance"], row["moved_percent"], "o", label=row["planner"])
    axes.set_xlabel(f"busiest slot over the mean, tau {SHOWN_TAU}")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)
