"""Modified policy iteration over a listed instance: the projected cost of every state, to a bound that is known.

    C[n, P] = sum over n' of M[n, n'] * min over P' feasible for n' of ( cost(P, P') + gamma * C[n', P'] )

One sweep solves every minimisation exactly (that gives the next choices and the residual), then follows the choices
for many cheap steps. Invariant: where an iteration ends with residual d, every cost is within gamma / (1 - gamma) * d
of the true one. How a sweep's minimisations are carried out, here or on Spark, is the caller's ``solver``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numba import njit

from whimbrel.planning.projection_problem import Block, Problem, Solved
from whimbrel.planning.projection_reach import IntArray
from whimbrel.planning.projection_space import FloatArray, LongArray

TOLERANCE = 1e-12
"""The default bound on the error of a projected cost, as a share of the total state."""

EPSILON = 1e-15
"""What summing doubles leaves uncertain, as a share of the largest cost; no tolerance goes below what it allows."""

MOST_SWEEPS = 500
FITTED_SWEEPS = 2
"""Later sweeps keep the weights of the second fit: costs change little by then, and a fit takes time on the driver."""

EVALUATION_SHARE = 1e-6
"""Following the choices stops once a step changes less than this share of the sweep's residual."""


@dataclass(frozen=True)
class Progress:
    """Where an iteration stands; enough to go on from after a kill. ``residual`` is infinite before the first sweep."""

    sweeps: int
    costs: FloatArray
    chosen: IntArray
    weights: tuple[FloatArray, ...]
    residual: float
    bound: float
    evaluated: int
    pruned: int


Solver = Callable[[Problem, Progress], Iterable[Solved]]
"""Solves all blocks of one sweep, in any order."""


def start(problem: Problem) -> Progress:
    """All costs zero: the first sweep then looks one step ahead, like a single-step planner."""
    chosen = np.full((problem.size, len(problem.spaces)), -1, np.int32)
    nothing = np.zeros(problem.size)
    return Progress(0, nothing, chosen, problem.weights(nothing), float("inf"), float("inf"), 0, 0)


def iterate(
    problem: Problem,
    solver: Solver,
    progress: Progress,
    after_sweep: Callable[[Progress], None],
    tolerance: float = TOLERANCE,
) -> Progress:
    """Sweeps until the error bound is at most ``tolerance`` times the total state; calls ``after_sweep`` every time."""
    while not converged(problem, progress, tolerance) and progress.sweeps < MOST_SWEEPS:
        progress = sweep(problem, solver, progress, tolerance)
        after_sweep(progress)
    return progress


def converged(problem: Problem, progress: Progress, tolerance: float = TOLERANCE) -> bool:
    """Whether the error bound has been reached, as far as double precision can tell."""
    return progress.bound <= _attainable(problem, tolerance)


def _attainable(problem: Problem, tolerance: float) -> float:
    finest = 10 * EPSILON / (1 - problem.instance.gamma) ** 2
    return max(tolerance, finest) * problem.total_state


def solve_here(problem: Problem, progress: Progress) -> Iterable[Solved]:
    """A solver for one process: every block in turn."""
    discounted = problem.instance.gamma * progress.costs
    for i, j in problem.transitions:
        target = problem.target(discounted, progress.weights[j], j)
        block = Block(i, j, 0, problem.spaces[i].size)
        yield problem.solve(block, target, warm_start(problem, progress, block))


def warm_start(problem: Problem, progress: Progress, block: Block) -> IntArray:
    """The last choices of a block's sources."""
    first = problem.base[block.source]
    return np.ascontiguousarray(progress.chosen[first + block.start : first + block.stop, block.target])


def sweep(problem: Problem, solver: Solver, before: Progress, tolerance: float = TOLERANCE) -> Progress:
    """One improvement and, unless its residual is small enough to end here, the evaluation of its choices."""
    values = np.zeros_like(before.chosen, dtype=np.float64)
    chosen = np.full_like(before.chosen, -1)
    evaluated = 0
    for solved in solver(problem, before):
        first = problem.base[solved.block.source]
        rows = slice(first + solved.block.start, first + solved.block.stop)
        values[rows, solved.block.target] = solved.values
        chosen[rows, solved.block.target] = solved.chosen
        evaluated += solved.evaluated
    state = np.repeat(np.arange(len(problem.spaces)), np.diff(problem.base))
    improved = (values * problem.matrix[state]).sum(axis=1)
    residual = float(np.abs(improved - before.costs).max(initial=0.0))
    gamma = problem.instance.gamma
    bound = gamma / (1 - gamma) * residual
    costs = improved
    if bound > _attainable(problem, tolerance):
        finest = 4 * EPSILON / (1 - gamma) * problem.total_state
        enough = max(EVALUATION_SHARE * residual, finest)
        costs = _follow(problem, before.costs, improved, values, chosen, enough)
    weights = problem.weights(gamma * costs) if before.sweeps < FITTED_SWEEPS else before.weights
    return Progress(
        before.sweeps + 1,
        costs,
        chosen,
        weights,
        residual,
        bound,
        before.evaluated + evaluated,
        before.pruned + max(0, problem.pairs - evaluated),
    )


def _follow(
    problem: Problem, old: FloatArray, improved: FloatArray, values: FloatArray, chosen: IntArray, enough: float
) -> FloatArray:
    gamma = problem.instance.gamma
    steps = improved.copy()
    following = np.empty_like(improved)
    spans = (problem.matrix, problem.base, chosen)
    here = np.zeros_like(improved)
    _discounted(*spans, gamma, old, here)
    steps -= here
    costs = improved
    while True:
        _discounted(*spans, gamma, costs, following)
        following += steps
        change = float(np.abs(following - costs).max(initial=0.0))
        costs, following = following, costs if costs is not improved else np.empty_like(improved)
        if change <= enough:
            return costs


@njit(cache=True)
def _discounted(
    matrix: FloatArray, base: LongArray, chosen: IntArray, gamma: float, costs: FloatArray, out: FloatArray
) -> None:
    """``out[row]``: the expected discounted cost of the states that the choices lead to."""
    for i in range(len(base) - 1):
        for row in range(base[i], base[i + 1]):
            total = 0.0
            for j in range(len(base) - 1):
                if matrix[i, j] > 0.0:
                    total += matrix[i, j] * costs[base[j] + chosen[row, j]]
            out[row] = gamma * total
