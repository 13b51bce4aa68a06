"""The papers' scale: 64 bins, tau 0.2, {8, 10, 12, 14, 16} slots, gamma 0.8. How long does an exact projection take?

In this process and, where Spark can be started, on one core of it and on two. The online choice is timed as well, and
the additive form is compared with the exact costs: its explained variance, and what its choices cost more.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.lookahead_settings import BINS, STATES, chains, loads, matrix_of, slot_history
from whimbrel.experiments.lookahead_walks import walk_cuts
from whimbrel.experiments.results import plotting, save_picture, save_rows
from whimbrel.model import Load
from whimbrel.planning.mtm_backtest import look_ahead, single_step
from whimbrel.planning.mtm_choice import AdditiveChoice, ExactChoice
from whimbrel.planning.mtm_matrix import TransitionMatrix
from whimbrel.planning.projection_additive import Horizon, additive_of, bellman, fit_additive
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_iteration import Progress, iterate, solve_here, start
from whimbrel.planning.projection_problem import Problem
from whimbrel.planning.projection_space import FloatArray

ID = "lookahead-scale"
CLAIM = "Projecting every partition at the papers' scale takes minutes on two cores, and a choice no time at all"

SECONDS_MOST = 300.0
CHOICE_MS_MOST = 2.0
SPEEDUP_LEAST = 1.8


def run(data: Path | None, out: Path, spark: bool = True, bins: int = BINS) -> dict[str, Any]:
    """Measures every load in this process, and the equal load on Spark as well unless ``spark`` is False."""
    matrix = matrix_of(slot_history(data)[0])
    rows, sweeps = [], []
    for name, load in loads(data).items():
        used = Load(load.work[:bins], load.state[:bins])
        problem = Problem.of(ProjectionInstance(used, "0.2", STATES, matrix.matrix, 0.8))
        row, told = _measure(problem, matrix)
        rows.append({"load": name, **row})
        sweeps += [{"load": name, **entry} for entry in told]
    answer: dict[str, Any] = {"rows": rows}
    slowest = max(row["seconds"] for row in rows)
    if spark:
        answer["spark"] = [_on_spark(problem, cores) for cores in (1, 2)]
        slowest = answer["spark"][1]["seconds"]
        answer["speedup"] = answer["spark"][0]["seconds"] / slowest
    holds = slowest <= SECONDS_MOST and all(row["choice_ms"] <= CHOICE_MS_MOST for row in rows)
    files = [save_picture(_picture(sweeps), out, ID), save_rows(rows, out, ID)]
    return {"id": ID, "claim": CLAIM, "holds": holds, "figures": files, **answer}


def _measure(problem: Problem, matrix: TransitionMatrix) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    iterate(problem, solve_here, start(problem), lambda progress: None, tolerance=10.0)
    told: list[dict[str, Any]] = []
    started = time.perf_counter()

    def after(progress: Progress) -> None:
        spent = time.perf_counter() - started
        told.append({"sweep": progress.sweeps, "bound": progress.bound / problem.total_state, "seconds": spent})

    end = iterate(problem, solve_here, start(problem), after)
    seconds = time.perf_counter() - started
    return {
        "partitions": problem.size,
        "sweeps": end.sweeps,
        "seconds": seconds,
        "residual": end.residual,
        "pairs_evaluated": end.evaluated,
        "pairs_pruned": end.pruned,
        **_choices(problem, end.costs, matrix),
    }, told


def _choices(problem: Problem, costs: FloatArray, matrix: TransitionMatrix) -> dict[str, float]:
    """Time per choice, what the additive form explains, and the cost of chains planned by each."""
    instance = problem.instance
    horizon = Horizon.of(instance)
    bounds = {space.slots: space.bounds for space in problem.spaces}
    single = single_step(bounds, problem.prefix)
    feasible = [space.slots for space in problem.spaces if space.size]
    drawn = chains(matrix, feasible, 3, 100)
    fitted = fit_additive(instance, np.random.default_rng(7))
    choosers: dict[str, ExactChoice | AdditiveChoice] = {
        "exact": ExactChoice(problem, costs, instance.gamma),
        "condensed": AdditiveChoice(horizon, additive_of(problem, costs)),
        "additive": AdditiveChoice(horizon, fitted),
    }
    found: dict[str, float] = {"additive_r2": _explained(problem, costs, AdditiveChoice(horizon, fitted))}
    for name, choice in choosers.items():
        step = look_ahead(choice, single, problem.prefix)
        walked = walk_cuts(instance.load, lambda slots: single(np.zeros(0, np.int32), slots), step, drawn)
        started = time.perf_counter()
        walk_cuts(instance.load, lambda slots: single(np.zeros(0, np.int32), slots), step, drawn[:1])
        spent_ms = 1000 * (time.perf_counter() - started) / (len(drawn[0]) - 1)
        found["choice_ms" if name == "exact" else f"{name}_ms"] = spent_ms
        found[f"{name}_moved_percent"] = 100 * float(walked.moved.mean())
    return found


def _explained(problem: Problem, costs: FloatArray, choice: AdditiveChoice) -> float:
    """The share of the exact costs' variance that one Bellman step on the additive form explains, over slot counts."""
    left, whole = 0.0, 0.0
    future = choice.costs.future(choice.horizon)
    for j, space in enumerate(problem.spaces):
        if space.size < 2:
            continue
        exact = problem.costs_of(costs, j)
        error = exact - bellman(choice.horizon, future, j, space.offset, space.cuts)
        left += float(error.var()) * space.size
        whole += float(exact.var()) * space.size
    return 1 - left / whole if whole else 1.0


def _on_spark(problem: Problem, cores: int) -> dict[str, Any]:
    from whimbrel.runtime.precompute import project_on_spark
    from whimbrel.runtime.precompute_session import projection_session

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with projection_session(cores) as spark, tempfile.TemporaryDirectory() as warm, tempfile.TemporaryDirectory() as to:
        project_on_spark(spark, problem, Path(warm), tolerance=10.0)
        started = time.perf_counter()
        end = project_on_spark(spark, problem, Path(to))
        return {"cores": cores, "seconds": time.perf_counter() - started, "sweeps": end.sweeps}


def _picture(sweeps: list[dict[str, Any]]) -> Any:
    figure, axes = plotting().subplots(figsize=(5.5, 3.4), layout="constrained")
    for name in dict.fromkeys(entry["load"] for entry in sweeps):
        points = [entry for entry in sweeps if entry["load"] == name]
        axes.semilogy([entry["seconds"] for entry in points], [entry["bound"] for entry in points], "o-", label=name)
    axes.set(xlabel="seconds", ylabel="error bound, share of the state")
    axes.legend()
    return figure
