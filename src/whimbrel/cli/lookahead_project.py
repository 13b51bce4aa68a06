"""Carries ``mtm project`` out: counts first, then projects here or on Spark, with progress on standard error."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

from whimbrel.cli.answers import INFEASIBLE, note, print_json
from whimbrel.cli.lookahead_answers import show_projection
from whimbrel.cli.lookahead_progress import Sweeps, rounds_told, shown
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
    with shown() as tell:
        done = resumed.sweeps if resumed else 0
        course = Sweeps(tell, problem.total_state, tolerance, done, time.perf_counter)
        if engine == "spark" or (engine == "auto" and counted.total >= SPARK_FROM):
            end = _on_spark(problem, out, cores, course, tolerance)
        else:
            end = project_exact(problem, out, solve_here, course.swept, tolerance)
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


def _on_spark(problem: Problem, out: Path, cores: int, course: Sweeps, tolerance: float) -> Progress:
    from whimbrel.cli.java import use_java
    from whimbrel.runtime.precompute import project_on_spark
    from whimbrel.runtime.precompute_session import projection_session

    use_java(os.environ)
    with projection_session(cores) as spark:
        return project_on_spark(spark, problem, out, course.swept, tolerance, course.working)


def project_additively(
    instance: ProjectionInstance, out: Path, samples: int, rounds: int, seed: int, json_output: bool
) -> None:
    """The additive form by fitted value iteration, or exit 3 where no slot count is feasible."""
    counted = census(instance)
    _stop_if_infeasible(counted, json_output)
    started = time.perf_counter()
    changes: list[float] = []
    with shown() as tell:
        told = rounds_told(tell, rounds)

        def report(done: int, change: float) -> None:
            changes.append(change)
            told(done, change)

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
