"""A hundred migrations drawn from the matrix, load and state fixed: does looking ahead move less?

Twenty chains per setting, the same for every planner. ``mtm`` is exact where the partitions can be listed, and additive
everywhere; ``mtm-backtested`` is the better known of the two behind a back-test on other chains of the same matrix.
``hindsight`` knows each chain in advance. Baselines break the limit: read their balance beside their cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.lookahead_settings import STATES, chains, loads, matrix_of, slot_history
from whimbrel.experiments.lookahead_walks import Walked, hindsight, walk_assignments, walk_cuts
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
from whimbrel.planning.projection_reach import reach

ID = "lookahead-chains"
CLAIM = "MTM-aware migration moves less than the best single step, at every tau and the more the larger gamma"

TAUS = ("0.1", "0.2", "0.3")
GAMMAS = (0.0, 0.5, 0.8, 0.95)
EXACT_MOST = 200_000
WORST_LOSS_PERCENT = 1.0


def run(
    data: Path | None,
    out: Path,
    taus: Sequence[str] = TAUS,
    gammas: Sequence[float] = GAMMAS,
    count: int = 20,
    length: int = 100,
    hindsight_chains: int = 2,
) -> dict[str, Any]:
    """Measures every load, tau and gamma; sizes are arguments, so that a small run stays small."""
    matrix = matrix_of(slot_history(data)[0])
    rows: list[dict[str, Any]] = []
    for name, load in loads(data).items():
        for tau in taus:
            measured = _measure(load, tau, gammas, matrix, count, length, hindsight_chains)
            rows += [{"load": name, "tau": tau, **row} for row in measured]
    ahead = [row for row in rows if row["planner"].startswith("mtm") and row["gamma"] > 0]
    guarded = [row for row in ahead if row["planner"] == "mtm-backtested"]
    files = [save_picture(_picture(rows), out, ID), save_rows(rows, out, ID)]
    return {
        "id": ID,
        "claim": CLAIM,
        "holds": bool(ahead) and all(row["saved_percent"] > 0 for row in ahead if row["planner"] != "mtm-backtested"),
        "backtested_never_loses_1_percent": all(row["saved_percent"] > -WORST_LOSS_PERCENT for row in guarded),
        "figures": files,
        "rows": rows,
    }


def _measure(
    load: Load,
    tau: str,
    gammas: Sequence[float],
    matrix: TransitionMatrix,
    count: int,
    length: int,
    hindsight_chains: int,
) -> list[dict[str, Any]]:
    bounds = {slots: reach(load, slots, tau) for slots in STATES}
    feasible = [slots for slots in STATES if bounds[slots].feasible]
    if len(feasible) < 2:
        return [{"planner": "none", "gamma": None, "feasible_slots": feasible}]
    instance = ProjectionInstance(load, tau, STATES, matrix.matrix, 0.8)
    drawn = chains(matrix, feasible, 2 * count, length)
    test, history = drawn[:count], drawn[count:]
    prefix = np.concatenate([[0.0], np.cumsum(np.asarray(load.state, np.float64))])
    single = single_step(bounds, prefix)
    problem = Problem.of(instance) if census(instance).total <= EXACT_MOST else None

    def first(slots: int) -> np.ndarray:
        return single(np.zeros(0, np.int32), slots)

    base = walk_cuts(load, first, single, test)
    rows = [_row("ssm", None, base, None)]
    for gamma in gammas:
        steps = _steps(replace(instance, gamma=gamma), problem, single, prefix)
        walked = {name: walk_cuts(load, first, step, test) for name, step in steps.items()}
        rows += [_row(name, gamma, found, base) for name, found in walked.items()]
        best = "mtm-exact" if "mtm-exact" in steps else "mtm-additive"
        past = [walk_cuts(load, first, step, history).moved for step in (single, steps[best])]
        guarded = walked[best] if compare(past[0].tolist(), past[1].tolist()).pays else base
        rows.append(_row("mtm-backtested", gamma, guarded, base))
    if problem is not None and hindsight_chains:
        rows.append(_row("hindsight", None, hindsight(problem, first, test[:hindsight_chains]), base))
    for planner, seeded in (("even", False), ("consistent-hashing", True), ("redist", False)):
        rows.append(_row(planner, None, walk_assignments(planner, load, tau, test[:5], seeded), base))
    return rows


def _steps(instance: ProjectionInstance, problem: Problem | None, single: Step, prefix: np.ndarray) -> dict[str, Step]:
    costs = fit_additive(instance, np.random.default_rng(7))
    steps = {"mtm-additive": look_ahead(AdditiveChoice(Horizon.of(instance), costs), single, prefix)}
    if problem is not None:
        asked = replace(problem, instance=instance)
        end = iterate(asked, solve_here, start(asked), lambda progress: None, tolerance=1e-6)
        steps["mtm-exact"] = look_ahead(ExactChoice(asked, end.costs, instance.gamma), single, prefix)
    return steps


def _row(planner: str, gamma: float | None, found: Walked, base: Walked | None) -> dict[str, Any]:
    return {"planner": planner, "gamma": gamma, **found.row(base)}


def _picture(rows: list[dict[str, Any]]) -> Any:
    names = list(dict.fromkeys(row["load"] for row in rows))
    figure, panels = plotting().subplots(1, len(names), figsize=(4 * len(names), 3.4), layout="constrained")
    for axes, name in zip(np.atleast_1d(panels), names, strict=True):
        for planner, style in (("mtm-exact", "o-"), ("mtm-additive", "s--")):
            for tau in dict.fromkeys(row["tau"] for row in rows):
                points = [row for row in rows if (row["load"], row["tau"], row["planner"]) == (name, tau, planner)]
                if points:
                    gammas = [row["gamma"] for row in points]
                    saved = [row["saved_percent"] for row in points]
                    errors = [row["saved_ci"] for row in points]
                    axes.errorbar(gammas, saved, errors, fmt=style, capsize=2, label=f"{planner}, tau {tau}")
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set(title=name, xlabel="gamma", ylabel="saved against ssm, %")
        axes.legend(fontsize=6)
    return figure
