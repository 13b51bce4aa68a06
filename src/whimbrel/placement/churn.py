"""What happens when: arrivals, departures and servers that come and go, as one sequence of events.

Time is counted in steps. In every step a Poisson number of queries arrives, each with a lifetime; every
``server_change_steps`` steps a coin decides whether a server joins or a random one goes. Within a step departures come
first, then servers, then arrivals. All randomness comes from the generator that is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whimbrel.model.errors import BadInput
from whimbrel.placement.instance import Floats, Integers

DEPART, SERVER_GOES, SERVER_JOINS, ARRIVE = 0, 1, 2, 3
"""Kinds of events, in their order within a step."""

LIFETIMES = ("exponential", "pareto")


@dataclass(frozen=True, eq=False)
class Events:
    """Event ``e`` happens in step ``step[e]``; ``subject[e]`` is its query, or which of the servers that are up goes.

    For SERVER_GOES the subject is a random number in [0, 2^31), to be scaled to the servers that are up then.
    """

    steps: int
    step: Integers
    kind: NDArray[np.int8]
    subject: Integers
    arrivals: int

    @property
    def joins(self) -> int:
        """How many servers join in all."""
        return int((self.kind == SERVER_JOINS).sum())


def arrivals_only(queries: int) -> Events:
    """One query per step, none departs."""
    step = np.arange(queries, dtype=np.int64)
    return Events(queries, step, np.full(queries, ARRIVE, dtype=np.int8), step.copy(), queries)


def draw_events(
    steps: int,
    rng: np.random.Generator,
    arrival_rate: float = 1.0,
    mean_lifetime: float | None = 100_000.0,
    lifetimes: str = "exponential",
    pareto_shape: float = 1.5,
    server_change_steps: int | None = None,
) -> Events:
    """Events of ``steps`` steps. Without ``mean_lifetime`` nobody departs, without ``server_change_steps`` servers stay."""
    _check(steps, arrival_rate, mean_lifetime, lifetimes, pareto_shape, server_change_steps)
    born = np.repeat(np.arange(steps, dtype=np.int64), rng.poisson(arrival_rate, steps))
    query = np.arange(len(born), dtype=np.int64)
    parts = [(born, np.full(len(born), ARRIVE, dtype=np.int8), query)]
    if mean_lifetime is not None:
        life = np.ceil(lifetimes_of(len(born), mean_lifetime, lifetimes, pareto_shape, rng))
        dies = born + np.minimum(life, steps).astype(np.int64)
        gone = np.flatnonzero(dies < steps)
        parts.append((dies[gone], np.full(len(gone), DEPART, dtype=np.int8), query[gone]))
    if server_change_steps is not None:
        when = np.arange(server_change_steps, steps, server_change_steps, dtype=np.int64)
        kind = np.where(rng.random(len(when)) < 0.5, SERVER_JOINS, SERVER_GOES).astype(np.int8)
        parts.append((when, kind, rng.integers(0, 2**31, len(when))))
    step, kind, subject = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((subject, kind, step))
    return Events(steps, step[order], kind[order], subject[order], len(born))


def lifetimes_of(count: int, mean: float, law: str, shape: float, rng: np.random.Generator) -> Floats:
    """Lifetimes with this mean; Pareto ones start at mean * (shape - 1) / shape."""
    if law == "exponential":
        return rng.exponential(mean, count)
    return (rng.pareto(shape, count) + 1) * mean * (shape - 1) / shape


def _check(steps: int, rate: float, mean: float | None, law: str, shape: float, change_steps: int | None) -> None:
    if steps < 1 or rate <= 0:
        raise BadInput(f"{steps} steps with {rate} arrivals each: both must be more than zero")
    if law not in LIFETIMES:
        raise BadInput(f"there is no lifetime law '{law}': use one of {', '.join(LIFETIMES)}")
    if mean is not None and mean <= 0:
        raise BadInput(f"the mean lifetime is {mean}: it must be more than zero")
    if law == "pareto" and shape <= 1:
        raise BadInput(f"a Pareto law of shape {shape} has no mean: the shape must be more than 1")
    if change_steps is not None and change_steps < 1:
        raise BadInput(f"a server comes or goes every {change_steps} steps: it must be at least 1")
