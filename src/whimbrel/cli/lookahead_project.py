"""Carries ``mtm project`` out: counts first, then projects here or on Spark, with progress on standard error."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import typer

from whimbrel.cli.answers import INFEASIBLE, note, print_json
from whimbrel.cli.lookahead_answers import show_projection
from whimbrel.model import BadInput
from whimbrel.planning import projection_store
from whimbrel.planning.projection_additive import fit_additive
from whimbrel.planning.projection_count import DEFAULT_MOST, Census, census, duration, refuse_if_too_many
from whimbrel.planning.projection_exact import load_sweep, project_exact
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_iteration import Progress, solve_here
from whimbrel.planning.projection_problem import Problem

SPARK_FROM = 20_000
"""Partitions from which starting Spark takes less time than it saves."""


def project_exactly(
    instance: ProjectionInstance,
    out: Path,
    engine: str,
    cores: int,
    most: int | None,
    tolerance: float,
    json_output: bool,
) -> None:
    """Exact costs of every partition, or exit 3 where none is feasible."""
    if engine not in ("auto", "spark", "here"):
        raise BadInput(f"there is no engine {engine!r}: choose auto, spark or here")
    if not tolerance > 0:
        raise BadInput(f"tolerance is {tolerance}: it must be above zero")
    counted = census(instance)
    _stop_if_infeasible(counted, json_output)
    refuse_if_too_many(counted, DEFAULT_MOST if most is None else most)
    note(f"{counted.total:,} partitions are feasible; about {duration(counted.seconds)} on one core")
    started = time.perf_counter()
    problem = Problem.of(instance)
    resumed = load_sweep(out, problem)
    if resumed is not None:
        note(f"goes on after sweep {resumed.sweeps} of an earlier run")
    report = _reporter(problem, tolerance, resumed, started)
    if engine == "spark" or (engine == "auto" and counted.total >= SPARK_FROM):
        end = _on_spark(problem, out, cores, report, tolerance)
    else:
        end = project_exact(problem, out, solve_here, report, tolerance)
    answer = {
        **_common(instance, counted, out, "exact"),
        "iterations": end.sweeps,
        "residual": end.residual,
        "error_bound": end.bound,
        "pairs_evaluated": end.evaluated,
        "pairs_pruned": end.pruned,
        "seconds": time.perf_counter() - started,
    }
    show_projection(answer, json_output)


def _on_spark(
    problem: Problem, out: Path, cores: int, report: Callable[[Progress], None], tolerance: float
) -> Progress:
    from whimbrel.cli.java import use_java
    from whimbrel.runtime.precompute import project_on_spark
    from whimbrel.runtime.precompute_session import projection_session

    use_java(os.environ)
    with projection_session(cores) as spark:
        return project_on_spark(spark, problem, out, report, tolerance, note)


def project_additively(
    instance: ProjectionInstance, out: Path, samples: int, rounds: int, seed: int, json_output: bool
) -> None:
    """The additive form by fitted value iteration, or exit 3 where no slot count is feasible."""
    counted = census(instance)
    _stop_if_infeasible(counted, json_output)
    started = time.perf_counter()
    changes: list[float] = []

    def report(done: int, change: float) -> None:
        changes.append(change)
        spent = time.perf_counter() - started
        left = spent / done * (rounds - done)
        note(f"round {done} of {rounds}: answers moved by {change:.2e} of the state; about {duration(left)} left")

    costs = fit_additive(instance, np.random.default_rng(seed), samples, rounds, report)
    made = {"samples": samples, "rounds": rounds, "seed": seed, "residual": changes[-1]}
    projection_store.write_additive(out, costs, instance.digest)
    projection_store.write_stamp(out, projection_store.Stamp(instance, "additive", made))
    residual = changes[-1] * costs.total_state
    answer = {
        **_common(instance, counted, out, "additive"),
        "iterations": rounds,
        "residual": residual,
        "seconds": time.perf_counter() - started,
    }
    show_projection(answer, json_output)


def _stop_if_infeasible(counted: Census, json_output: bool) -> None:
    if counted.total:
        return
    reason = "no partition is feasible for any of the slot counts: a bin or the balance exceeds the limit; raise tau"
    if json_output:
        print_json({"feasible": False, "partitions": _by_slots(counted), "reason": reason})
    else:
        note(reason)
    raise typer.Exit(INFEASIBLE)


def _by_slots(counted: Census) -> dict[str, int]:
    return {str(slots): count for slots, count in counted.counts.items()}


def _common(instance: ProjectionInstance, counted: Census, out: Path, method: str) -> dict[str, Any]:
    return {
        "feasible": True,
        "method": method,
        "partitions": _by_slots(counted),
        "partitions_total": counted.total,
        "infeasible_states": [slots for slots, count in counted.counts.items() if not count],
        "digest": instance.digest,
        "out": str(out),
    }


def _reporter(
    problem: Problem, tolerance: float, resumed: Progress | None, started: float
) -> Callable[[Progress], None]:
    first = resumed.sweeps if resumed else 0
    bounds: list[float] = []

    def report(progress: Progress) -> None:
        bounds.append(progress.bound / problem.total_state if problem.total_state else 0.0)
        each = (time.perf_counter() - started) / (progress.sweeps - first)
        left = duration(each * sweeps_left(bounds, tolerance))
        note(
            f"sweep {progress.sweeps}: residual {progress.residual:.3e}, error bound {bounds[-1]:.2e} of the state, "
            f"{progress.evaluated:,} pairs evaluated, {progress.pruned:,} pruned; about {left} left"
        )

    return report


def sweeps_left(bounds: list[float], tolerance: float) -> float:
    """How many more sweeps the fall of the bounds promises; policy iteration falls ever faster, so rather fewer."""
    if bounds[-1] <= tolerance:
        return 0.0
    if len(bounds) < 2 or bounds[-1] >= bounds[-2]:
        return 7.0
    return max(1.0, min(20.0, log(bounds[-1] / tolerance) / log(bounds[-2] / bounds[-1]) / 2))
