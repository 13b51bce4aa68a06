"""An oracle for projected costs: every partition, every pair, plain value iteration. Written from the definition.

Imports the words only. Pairs of intervals are matched by scipy's assignment solver, not by any recursion.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from whimbrel.model import Limit, Load

Cuts = tuple[int, ...]


def all_partitions(load: Load, slots: int, tau: float | str) -> list[Cuts]:
    """Interior cuts of every partition into at most ``slots`` non-empty intervals within the limit."""
    limit = Limit.of(load.work, slots, tau)
    found = []
    for count in range(min(slots, load.bins)):
        for cuts in combinations(range(1, load.bins), count):
            edges = (0, *cuts, load.bins)
            if all(limit.allows(sum(load.work[a:b])) for a, b in zip(edges, edges[1:])):
                found.append(cuts)
    return sorted(found, key=lambda cuts: (*cuts, load.bins))


def step_cost(load: Load, old: Cuts, new: Cuts) -> float:
    """Total state less the best matching of old and new intervals."""
    olds, news = (0, *old, load.bins), (0, *new, load.bins)
    shared = np.array(
        [[sum(load.state[max(a, c) : min(b, d)]) for c, d in zip(news, news[1:])] for a, b in zip(olds, olds[1:])],
        dtype=float,
    )
    rows, columns = linear_sum_assignment(shared, maximize=True)
    return sum(load.state) - shared[rows, columns].sum()


def value_iteration(load: Load, tau, states, matrix, gamma, tolerance=1e-13) -> dict[tuple[int, Cuts], float]:
    """The projected cost of every (slots, cuts), by value iteration over all pairs."""
    spaces = {slots: all_partitions(load, slots, tau) for slots in states}
    cost = {
        (n, k): np.array([[step_cost(load, p, q) for q in spaces[k]] for p in spaces[n]]).reshape(
            len(spaces[n]), len(spaces[k])
        )
        for n in states
        for k in states
    }
    chance = np.array(matrix, float) * np.array([bool(spaces[k]) for k in states])
    sums = chance.sum(axis=1, keepdims=True)
    chance = np.divide(chance, sums, out=np.zeros_like(chance), where=sums > 0)
    values = {n: np.zeros(len(spaces[n])) for n in states}
    while True:
        new = {n: np.zeros(len(spaces[n])) for n in states}
        for i, n in enumerate(states):
            for j, k in enumerate(states):
                if chance[i, j] > 0 and spaces[n]:
                    new[n] += chance[i, j] * (cost[n, k] + gamma * values[k][None, :]).min(axis=1)
        change = max((np.abs(new[n] - values[n]).max(initial=0) for n in states), default=0)
        values = new
        if change <= tolerance * max(1, sum(load.state)):
            break
    return {(n, cuts): float(v) for n in states for cuts, v in zip(spaces[n], values[n])}
