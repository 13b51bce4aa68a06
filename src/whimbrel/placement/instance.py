"""A placement instance: which queries read which sources, and which servers there are to host them.

A source publishes at a rate; a query reads a set of sources and brings some work; a server that hosts at least one
reader of a source receives that source once. Queries are kept in arrival order, as rows of one flat array:
query ``q`` reads ``sources[offsets[q]:offsets[q + 1]]``, ascending and each once. Never mutated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whimbrel.model.errors import BadInput

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

FINEST_RATIO = 10**9
"""Slacks are read as ratios with no larger denominator, and none is larger than this."""

_MOST_WORK = 2**31
_MOST_SERVERS = 1_000_000
_MOST_TRAFFIC = 1e300


@dataclass(frozen=True, eq=False)
class PlacementInstance:
    """Sources with rates, queries with sources and work, servers with relative capacities, and the two slacks.

    ``nu`` is the relative slack and ``alpha`` the absolute one (used by online algorithms only); ``work`` is 1 for
    every query and ``capacities`` are equal unless given. Construction checks everything and raises BadInput.

    >>> PlacementInstance.of(rates=[1, 2], queries=[[0], [1, 0]], servers=2).degree_max
    2
    """

    rates: Floats
    offsets: Integers
    sources: Integers
    servers: int
    nu: Fraction
    alpha: Fraction
    work: Integers
    capacities: Integers

    @staticmethod
    def of(
        rates: Iterable[float],
        queries: Sequence[Sequence[int]],
        servers: int,
        nu: float | str | Fraction = "0.05",
        alpha: float | str | Fraction = 10,
        work: Sequence[int] | None = None,
        capacities: Sequence[int] | None = None,
    ) -> PlacementInstance:
        """The instance of plain lists; BadInput says which entry cannot be used and why."""
        lengths = np.fromiter((len(query) for query in queries), dtype=np.int64, count=len(queries))
        flat = [source for query in queries for source in query]
        sources = _integers("queries", flat, least=0)
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        return PlacementInstance.of_rows(rates, offsets, sources, servers, nu, alpha, work, capacities)

    @staticmethod
    def of_rows(
        rates: Iterable[float],
        offsets: Integers,
        sources: Integers,
        servers: int,
        nu: float | str | Fraction = "0.05",
        alpha: float | str | Fraction = 10,
        work: Sequence[int] | Integers | None = None,
        capacities: Sequence[int] | Integers | None = None,
    ) -> PlacementInstance:
        """The instance of flat rows: query ``q`` reads ``sources[offsets[q]:offsets[q + 1]]``, in any order."""
        rate_array = _rate_array(rates)
        if isinstance(servers, bool) or not isinstance(servers, int | np.integer) or servers < 1:
            raise BadInput(f"servers is {servers!r}: it must be a whole number of at least 1")
        if servers > _MOST_SERVERS:
            raise BadInput(f"servers is {servers}: {_MOST_SERVERS} are the most")
        if float(rate_array.max(initial=0)) * max(1, len(sources)) * int(servers) > _MOST_TRAFFIC:
            raise BadInput(f"rates up to {rate_array.max()} are too large to be added up: use a larger unit")
        queries = len(offsets) - 1
        rows = _sorted_rows(np.asarray(offsets, dtype=np.int64), np.asarray(sources, dtype=np.int64), len(rate_array))
        return PlacementInstance(
            rates=rate_array,
            offsets=np.asarray(offsets, dtype=np.int64),
            sources=rows,
            servers=int(servers),
            nu=_ratio("nu", nu),
            alpha=_ratio("alpha", alpha),
            work=_amounts("work", work, queries, "query"),
            capacities=_amounts("capacities", capacities, int(servers), "server"),
        )

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return len(self.offsets) - 1

    @property
    def degrees(self) -> Integers:
        """How many sources each query reads."""
        return np.diff(self.offsets)

    @property
    def degree_max(self) -> int:
        """The most sources that one query reads; 0 without queries."""
        return int(self.degrees.max(initial=0))

    @property
    def total_work(self) -> int:
        """The work of all queries together."""
        return int(self.work.sum())

    @property
    def is_uniform(self) -> bool:
        """Whether every query brings one unit of work and every server has the same capacity."""
        return bool((self.work == 1).all() and (self.capacities == self.capacities[0]).all())

    def followed_by(self, other: PlacementInstance) -> PlacementInstance:
        """The queries of this instance, then those of another one with the same sources, on this one's servers."""
        return replace(
            self,
            offsets=np.concatenate((self.offsets, self.offsets[-1] + other.offsets[1:])),
            sources=np.concatenate((self.sources, other.sources)),
            work=np.concatenate((self.work, other.work)),
        )

    def drawn_again(self, queries: Integers) -> PlacementInstance:
        """The instance whose queries are these ones of this instance, in this order; one may come several times."""
        degrees = self.degrees[queries]
        offsets = np.concatenate(([0], np.cumsum(degrees))).astype(np.int64)
        entries = np.repeat(self.offsets[queries] - offsets[:-1], degrees) + np.arange(offsets[-1])
        return replace(self, offsets=offsets, sources=self.sources[entries], work=self.work[queries])

    def used_rate(self) -> float:
        """The rate of all sources that at least one query reads: the traffic if each were sent once."""
        return float(self.rates[np.unique(self.sources)].sum())

    def row(self, query: int) -> tuple[int, ...]:
        """The sources of one query, ascending."""
        return tuple(self.sources[self.offsets[query] : self.offsets[query + 1]].tolist())


def _rate_array(values: Iterable[float]) -> Floats:
    listed = values if isinstance(values, np.ndarray) else list(values)
    try:
        rates = np.asarray(listed, dtype=np.float64)
    except OverflowError:
        place = next(i for i, value in enumerate(listed) if abs(value) > _MOST_TRAFFIC)
        raise BadInput(f"rates[{place}] is too large to be added up: use a larger unit") from None
    wrong = np.flatnonzero(~np.isfinite(rates) | (rates < 0))
    if wrong.size:
        raise BadInput(f"rates[{wrong[0]}] is {rates[wrong[0]]}: a rate must be finite and zero or more")
    return rates


def _sorted_rows(offsets: Integers, sources: Integers, known: int) -> Integers:
    degrees = np.diff(offsets)
    if (degrees == 0).any():
        raise BadInput(f"queries[{int(np.argmin(degrees))}] reads no source: name at least one")
    query_of = np.repeat(np.arange(len(degrees)), degrees)
    outside = np.flatnonzero((sources < 0) | (sources >= known))
    if outside.size:
        place = int(outside[0])
        raise BadInput(
            f"queries[{query_of[place]}] reads source {sources[place]}: there are {known} rates, so sources run "
            f"from 0 to {known - 1}"
        )
    rows = sources[np.lexsort((sources, query_of))]
    twice = np.flatnonzero((rows[1:] == rows[:-1]) & (query_of[1:] == query_of[:-1]))
    if twice.size:
        raise BadInput(f"queries[{query_of[twice[0]]}] names source {rows[twice[0]]} twice: name each source once")
    return rows


def _integers(name: str, values: Sequence[Any], least: int) -> Integers:
    for place, value in enumerate(values):
        if type(value) is not int and not isinstance(value, np.integer):
            raise BadInput(f"{name}: entry {place} is {value!r}, a {type(value).__name__}: whole numbers are needed")
        if not least <= value < _MOST_WORK:
            raise BadInput(f"{name}: entry {place} is {value}: it must lie from {least} to {_MOST_WORK - 1}")
    return np.asarray(values, dtype=np.int64)


def _amounts(name: str, values: Sequence[int] | Integers | None, count: int, owner: str) -> Integers:
    if values is None:
        return np.ones(count, dtype=np.int64)
    if len(values) != count:
        raise BadInput(f"{name} has {len(values)} entries for {count}: give one per {owner}")
    return _integers(name, list(values), least=1)


def _ratio(name: str, value: float | str | Fraction) -> Fraction:
    try:
        ratio = value if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise BadInput(f"{name} is {value!r}: it must be a number of zero or more") from None
    if isinstance(value, bool) or ratio < 0 or ratio > FINEST_RATIO:
        raise BadInput(f"{name} is {value!r}: it must be a number of zero or more")
    return ratio.limit_denominator(FINEST_RATIO)
