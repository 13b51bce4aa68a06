"""Random instances: source popularity follows a power law, every query reads the same number of sources.

Degrees of sources are drawn from P(x) ~ x^-beta on 1..n until they add up to n * d (the last one is cut), so the
number of sources is an outcome; where it is given instead, that many draws are scaled to the same sum. The n * d
ends are shuffled into queries, and a query that would read one source twice swaps one of the two with a random other
query, which keeps every degree. All randomness comes from the generator that is passed in.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.model.errors import BadInput
from whimbrel.placement.instance import Floats, Integers, PlacementInstance
from whimbrel.placement.randomness import advanced, first_state, word_of

RATE_LAWS = ("unit", "random", "positive", "negative")
"""How a source's rate relates to its popularity: all 1; independent power law; proportional; inversely so."""


def generate_instance(
    queries: int,
    beta: float,
    degree: int,
    servers: int,
    rng: np.random.Generator,
    sources: int | None = None,
    rates: str = "unit",
    rate_exponent: float = 2.0,
    nu: float | str = "0.05",
    alpha: float | str = 10,
) -> PlacementInstance:
    """An instance of ``queries`` queries that read ``degree`` sources each. Raises BadInput for impossible sizes."""
    _check_sizes(queries, beta, degree, sources)
    degrees = (
        _drawn_degrees(queries, beta, degree, rng) if sources is None else _given(queries, beta, degree, sources, rng)
    )
    ends = np.repeat(np.arange(len(degrees), dtype=np.int64), degrees)
    rng.shuffle(ends)
    rows = ends.reshape(queries, degree)
    if degree > 1:
        _swap_repeats(rows, first_state(rng))
    offsets = np.arange(queries + 1, dtype=np.int64) * degree
    return PlacementInstance.of_rows(
        _rates(rates, degrees, rate_exponent, rng), offsets, rows.ravel(), servers, nu, alpha
    )


def power_law(beta: float, largest: int, count: int, rng: np.random.Generator) -> Integers:
    """``count`` draws from P(x) ~ x^-beta on 1..largest."""
    cumulative = np.cumsum(np.arange(1, largest + 1, dtype=np.float64) ** -beta)
    drawn = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right") + 1
    return np.minimum(drawn, largest).astype(np.int64)


def _check_sizes(queries: int, beta: float, degree: int, sources: int | None) -> None:
    if queries < 1:
        raise BadInput(f"{queries} queries make no instance: ask for at least one")
    if degree < 1:
        raise BadInput(f"a query of degree {degree} reads nothing: ask for at least one source per query")
    if not (np.isfinite(beta) and beta >= 0):
        raise BadInput(f"beta is {beta}: the exponent of the popularity law must be finite and zero or more")
    if sources is not None and sources < degree:
        raise BadInput(f"{sources} sources cannot give {degree} different ones to a query: ask for {degree} or more")


def _drawn_degrees(queries: int, beta: float, degree: int, rng: np.random.Generator) -> Integers:
    ends = queries * degree
    drawn = np.empty(0, dtype=np.int64)
    while drawn.sum() < ends:
        drawn = np.concatenate((drawn, power_law(beta, queries, max(1024, len(drawn)), rng)))
    used = int(np.searchsorted(np.cumsum(drawn), ends)) + 1
    degrees = drawn[:used].copy()
    degrees[-1] -= degrees.sum() - ends
    if used < degree:
        return _given(queries, beta, degree, degree, rng)
    return degrees


def _given(queries: int, beta: float, degree: int, sources: int, rng: np.random.Generator) -> Integers:
    """Draws scaled to the sum of ends, none over ``queries``: what the cap cuts off goes to those with room left."""
    weights = power_law(beta, queries, sources, rng).astype(np.float64)
    degrees = np.zeros(sources, dtype=np.int64)
    missing = queries * degree
    while missing:
        room = queries - degrees
        weights[room == 0] = 0
        wanted = np.minimum(np.floor(weights / weights.sum() * missing).astype(np.int64), room)
        if not wanted.any():
            open_sources = np.flatnonzero(room > 0)
            wanted[rng.choice(open_sources, size=min(missing, len(open_sources)), replace=False)] = 1
        degrees += wanted
        missing = queries * degree - int(degrees.sum())
    return degrees


def _rates(law: str, degrees: Integers, exponent: float, rng: np.random.Generator) -> Floats:
    popularity = np.maximum(degrees, 1).astype(np.float64)
    if law == "unit":
        return np.ones(len(degrees))
    if law == "random":
        return power_law(exponent, 10_000, len(degrees), rng).astype(np.float64)
    if law == "positive":
        return popularity
    if law == "negative":
        return popularity.max() / popularity
    raise BadInput(f"there is no rate law '{law}': use one of {', '.join(RATE_LAWS)}")


@njit(cache=True)
def _repeats(row: Integers, place: int) -> bool:
    found = False
    for other in range(place):
        found |= row[other] == row[place]
    return found


@njit(cache=True)
def _holds(row: Integers, source: int) -> bool:
    found = False
    for other in row:
        found |= other == source
    return found


@njit(cache=True)
def _partner(rows: Integers, query: int, place: int, state: np.uint64) -> tuple[int, np.uint64]:
    """An end elsewhere whose swap with (query, place) repeats nothing in either query; tries at random, then all."""
    total = rows.size
    degree = rows.shape[1]
    start = np.int64(0)
    for attempt in range(64 + total):
        if attempt <= 64:
            state = advanced(state)
            start = np.int64(word_of(state) >> np.uint64(1)) % total
        end = (start + max(0, attempt - 64)) % total
        other = end // degree
        if not _holds(rows[other], rows[query, place]) and not _holds(rows[query], rows[other, end % degree]):
            return end, state
    return np.int64(-1), state


@njit(cache=True)
def _swap_repeats(rows: Integers, state: np.uint64) -> None:
    degree = rows.shape[1]
    for query in range(rows.shape[0]):
        for place in range(1, degree):
            if _repeats(rows[query], place):
                end, state = _partner(rows, query, place, state)
                if end >= 0:
                    other, there = end // degree, end % degree
                    rows[query, place], rows[other, there] = rows[other, there], rows[query, place]
