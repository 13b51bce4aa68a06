"""From an instance to a folder with its exact projected costs, and back from a checkpoint after a kill.

After every sweep the whole progress is written aside and renamed; a run over the same instance goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from whimbrel.planning import projection_store
from whimbrel.planning.projection_additive import additive_of
from whimbrel.planning.projection_iteration import TOLERANCE, Progress, Solver, iterate, solve_here, start
from whimbrel.planning.projection_problem import Problem

SWEEP = "_sweep.npz"


def project_exact(
    problem: Problem,
    folder: Path,
    solver: Solver = solve_here,
    after_sweep: Callable[[Progress], None] = lambda progress: None,
    tolerance: float = TOLERANCE,
) -> Progress:
    """Projects ``problem`` to ``tolerance`` and writes the folder; resumes from a checkpoint of the same instance.

    ``after_sweep`` is told of every sweep once its checkpoint is on disk.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def keep(progress: Progress) -> None:
        save_sweep(folder, problem, progress)
        after_sweep(progress)

    end = iterate(problem, solver, load_sweep(folder, problem) or start(problem), keep, tolerance)
    made = {"sweeps": end.sweeps, "residual": end.residual, "error_bound": end.bound, "gamma": problem.instance.gamma}
    projection_store.write_costs(folder, problem, end.costs)
    projection_store.write_additive(folder, additive_of(problem, end.costs), problem.instance.digest)
    projection_store.write_stamp(folder, projection_store.Stamp(problem.instance, "exact", made))
    (folder / SWEEP).unlink(missing_ok=True)
    return end


def save_sweep(folder: Path, problem: Problem, progress: Progress) -> None:
    """Writes the checkpoint of a sweep in place of the one before."""
    aside = folder / f"{SWEEP}.new.npz"
    weights: dict[str, Any] = {f"weights_{j}": table for j, table in enumerate(progress.weights)}
    facts = np.array([progress.residual, progress.bound])
    counts = np.array([progress.sweeps, progress.evaluated, progress.pruned], np.int64)
    digest = np.frombuffer(problem.instance.digest.encode(), np.uint8)
    np.savez(aside, digest=digest, facts=facts, counts=counts, costs=progress.costs, chosen=progress.chosen, **weights)
    aside.replace(folder / SWEEP)


def load_sweep(folder: Path, problem: Problem) -> Progress | None:
    """The checkpoint of a run over the same instance, or None; a damaged one is worth a fresh start, no more."""
    try:
        with (folder / SWEEP).open("rb") as file, np.load(file, allow_pickle=False) as held:
            if held["digest"].tobytes().decode() != problem.instance.digest:
                return None
            sweeps, evaluated, pruned = (int(value) for value in held["counts"])
            residual, bound = (float(value) for value in held["facts"])
            weights = tuple(held[f"weights_{j}"] for j in range(len(problem.spaces)))
            return Progress(sweeps, held["costs"], held["chosen"], weights, residual, bound, evaluated, pruned)
    except (BadZipFile, EOFError, KeyError, ValueError, OSError):
        return None
