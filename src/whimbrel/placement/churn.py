"""What happens when: arrivals, departures and servers that come and go, as one sequence of events.

Time is counted in steps. In every step a Poisson number of queries arrives, each with a lifetime; every
``server_change_steps`` steps a coin decides whether a server joins or a random one goes; of those that go a share fails
and the others leave in order. Within a step departures come first, then servers, then arrivals. All randomness comes
from the generator that is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whimbrel.model.errors import BadInput
from whimbrel.placement.instance import Floats, Integers

DEPART, SERVER_GOES, SERVER_FAILS, SERVER_JOINS, ARRIVE = 0, 1, 2, 3, 4
"""Kinds of events, in their order within a step."""

LIFETIMES = ("exponential", "pareto")

_MOST_STEPS = 100_000_000
_MOST_RATE = 1_000_000


@dataclass(frozen=True, eq=False)
class Events:
    """Event ``e`` happens in step ``step[e]``; ``subject[e]`` is its query, or which of the servers that are up goes.

    For SERVER_GOES and SERVER_FAILS the subject is a random number in [0, 2^31), to be scaled to the servers that are up then.
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
    failure_share: float = 0.0,
) -> Events:
    """Events of ``steps`` steps. Without ``mean_lifetime`` nobody departs, without ``server_change_steps`` servers stay.

    Raises BadInput for what cannot be drawn from.
    """
    _check(steps, arrival_rate, mean_lifetime, lifetimes, pareto_shape)
    _check_servers(server_change_steps, failure_share)
    born = np.repeat(np.arange(steps, dtype=np.int64), rng.poisson(arrival_rate, steps))
    query = np.arange(len(born), dtype=np.int64)
    parts = [(born, np.full(len(born), ARRIVE, dtype=np.int8), query)]
    if mean_lifetime is not None:
        life = np.ceil(lifetimes_of(len(born), mean_lifetime, lifetimes, pareto_shape, rng))
        dies = born + np.minimum(life, steps).astype(np.int64)
        gone = np.flatnonzero(dies < steps)
        parts.append((dies[gone], np.full(len(gone), DEPART, dtype=np.int8), query[gone]))
    if server_change_steps is not None:
        parts.append(_server_changes(steps, server_change_steps, failure_share, rng))
    step, kind, subject = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((subject, kind, step))
    return Events(steps, step[order], kind[order], subject[order], len(born))


def _server_changes(
    steps: int, every: int, failure_share: float, rng: np.random.Generator
) -> tuple[Integers, NDArray[np.int8], Integers]:
    when = np.arange(every, steps, every, dtype=np.int64)
    kind = np.where(rng.random(len(when)) < 0.5, SERVER_JOINS, SERVER_GOES).astype(np.int8)
    subject = rng.integers(0, 2**31, len(when))
    kind[(kind == SERVER_GOES) & (rng.random(len(when)) < failure_share)] = SERVER_FAILS
    return when, kind, subject


def lifetimes_of(count: int, mean: float, law: str, shape: float, rng: np.random.Generator) -> Floats:
    """Lifetimes with this mean; Pareto ones start at mean * (shape - 1) / shape."""
    if law == "exponential":
        return rng.exponential(mean, count)
    return (rng.pareto(shape, count) + 1) * mean * (shape - 1) / shape


def _check(steps: int, rate: float, mean: float | None, law: str, shape: float) -> None:
    if not (1 <= steps <= _MOST_STEPS and 0 < rate <= _MOST_RATE and steps * rate <= _MOST_STEPS):
        raise BadInput(
            f"{steps} steps with {rate} arrivals each: both must be more than zero, and {_MOST_STEPS} arrivals in all "
            "are the most"
        )
    if law not in LIFETIMES:
        raise BadInput(f"there is no lifetime law '{law}': use one of {', '.join(LIFETIMES)}")
    if mean is not None and not 0 < mean < np.inf:
        raise BadInput(f"the mean lifetime is {mean}: it must be more than zero and finite")
    if law == "pareto" and not 1 < shape < np.inf:
        raise BadInput(f"a Pareto law of shape {shape} has no mean: the shape must be more than 1")


def _check_servers(change_steps: int | None, failure_share: float) -> None:
    if change_steps is not None and change_steps < 1:
        raise BadInput(f"a server comes or goes every {change_steps} steps: it must be at least 1")
    if not 0 <= failure_share <= 1:
        raise BadInput(f"the share of failures is {failure_share}: it must lie from 0 to 1")
