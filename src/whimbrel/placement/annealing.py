"""Simulated annealing over pieces: moves to servers that read the same sources, and swaps where there is no room.

A proposal takes a random piece, one of its sources, another reader of that source, and tries to join it. Where that
server has no room the piece changes places with one from there, the best of a few random ones that then fit. A change
that adds d to the traffic is taken with probability exp(-d / temperature); at the very end only if d is zero or less.
The limits hold after every step, and what is returned never costs more than the start.

Traffic alone is a poor guide from far away: it falls only when the last reader of a source leaves a server. So for a
first share of the proposals a server with c readers of s counts w(s) * (1 + 2^-p + ... + c^-p), with p rising from 1 to
4: readers gather although no stream ends yet. The rest goes by the traffic itself, which is the limit of large p.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.pieces import Pieces
from whimbrel.placement.randomness import STEP, advanced, below, unit_of
from whimbrel.placement.replicas import Replicas, add_reader, no_replicas, readers_on, remove_reader, servers_reached

_MARGINALS = 64
_PARTNERS = 4
"""How many pieces of a full server are looked at for a swap."""

_GREEDY_SHARE = 0.03
"""The last share of the proposals, which only goes downhill."""

_FIRST_POWER, _LAST_POWER = 1.0, 4.0


class _Problem(NamedTuple):
    """What the pieces read, what they weigh, and what servers may carry."""

    offsets: Integers
    sources: Integers
    weight: Integers
    reader_offsets: Integers
    readers: Integers
    rates: Floats
    limits: Integers


class _State(NamedTuple):
    """Where pieces are. Server j's pieces are ``members[starts[j]:starts[j] + size[j]]``, ``position`` their places.

    ``marginal[c]`` is what a server with c readers of a source counts for one more, per rate; the last entry goes for
    all larger c.
    """

    server: NDArray[np.int32]
    replicas: Replicas
    loads: Integers
    starts: Integers
    size: Integers
    members: NDArray[np.int32]
    position: NDArray[np.int32]
    marginal: Floats


def anneal(
    pieces: Pieces,
    rates: Floats,
    limits: Integers,
    server: Integers,
    proposals: int,
    hot: float,
    cold: float,
    smooth_share: float,
    state: np.uint64,
) -> Integers:
    """A placement of the pieces that costs no more than ``server``, which must keep the limits.

    The temperature falls from ``hot`` to ``cold`` times a rate, by equal factors: from the mean rate of what pieces
    read down to the median rate of the sources, where that is less. The first ``smooth_share`` of the proposals go by
    the smoother weight.
    """
    problem = _Problem(
        pieces.offsets, pieces.sources, pieces.weight, pieces.reader_offsets, pieces.readers, rates, limits
    )
    found = _empty_state(problem, server)
    _settle_in(problem, found)
    start = _traffic(problem, found.replicas)
    first, last = _units(pieces, rates)
    _anneal(problem, found, proposals, hot * first, cold * last, smooth_share, state)
    return found.server.astype(np.int64) if _traffic(problem, found.replicas) <= start else server


def _units(pieces: Pieces, rates: Floats) -> tuple[float, float]:
    """The rates that a high and a low temperature are a part of: what is typical for a reader, and for a source.

    With equal rates they are the same. Where popular sources are fast, at a temperature that suits them all others
    would be left as hot as at the start.
    """
    shared = rates[np.flatnonzero(np.diff(pieces.reader_offsets) > 1)]
    read = float(rates[pieces.sources].mean()) or 1.0
    typical = float(np.median(shared)) if shared.size else read
    return read, min(read, typical) or read


def _empty_state(problem: _Problem, server: Integers) -> _State:
    servers, pieces = len(problem.limits), len(server)
    most = problem.limits // int(problem.weight.min()) + 1
    starts = np.concatenate(([0], np.cumsum(most))).astype(np.int64)
    return _State(
        server.astype(np.int32),
        no_replicas(np.diff(problem.reader_offsets), servers),
        np.zeros(servers, dtype=np.int64),
        starts,
        np.zeros(servers, dtype=np.int64),
        np.zeros(starts[-1], dtype=np.int32),
        np.zeros(pieces, dtype=np.int32),
        np.eye(1, _MARGINALS)[0],
    )


@njit(cache=True)
def _settle_in(problem: _Problem, state: _State) -> None:
    for v in range(len(state.server)):
        j = state.server[v]
        state.members[state.starts[j] + state.size[j]], state.position[v] = v, state.size[j]
        state.size[j] += 1
        state.loads[j] += problem.weight[v]
        for e in range(problem.offsets[v], problem.offsets[v + 1]):
            add_reader(problem.sources[e], j, state.replicas)


@njit(cache=True)
def _traffic(problem: _Problem, replicas: Replicas) -> float:
    """The rate that all servers receive together."""
    total = 0.0
    for s in range(len(problem.rates)):
        total += problem.rates[s] * servers_reached(s, replicas)
    return total


@njit(cache=True)
def _set_marginals(marginal: Floats, done: float, smooth_share: float) -> None:
    """What one more reader counts after a share ``done`` of all proposals."""
    marginal[1:] = 0
    if done < smooth_share:
        power = _FIRST_POWER * (_LAST_POWER / _FIRST_POWER) ** (done / smooth_share)
        for c in range(1, len(marginal)):
            marginal[c] = (c + 1) ** -power


@njit(cache=True)
def _one_more(readers: int, state: _State) -> float:
    return state.marginal[min(readers, len(state.marginal) - 1)]


@njit(cache=True)
def _saved(v: int, i: int, problem: _Problem, state: _State) -> float:
    """The weight that ends when piece ``v`` leaves server ``i``."""
    total = 0.0
    for e in range(problem.offsets[v], problem.offsets[v + 1]):
        s = problem.sources[e]
        total += problem.rates[s] * _one_more(readers_on(s, i, state.replicas) - 1, state)
    return total


@njit(cache=True)
def _added(v: int, j: int, problem: _Problem, state: _State) -> float:
    """The weight that begins when piece ``v`` joins server ``j``."""
    total = 0.0
    for e in range(problem.offsets[v], problem.offsets[v + 1]):
        s = problem.sources[e]
        total += problem.rates[s] * _one_more(readers_on(s, j, state.replicas), state)
    return total


@njit(cache=True)
def _read_elsewhere(v: int, i: int, j: int, problem: _Problem, state: _State) -> None:
    """The sources of ``v`` are read on ``j`` instead of ``i``."""
    for e in range(problem.offsets[v], problem.offsets[v + 1]):
        remove_reader(problem.sources[e], i, state.replicas)
        add_reader(problem.sources[e], j, state.replicas)


@njit(cache=True)
def _accepts(change: float, temperature: float, random: np.uint64) -> bool:
    return change <= 0 or (change < 20 * temperature and unit_of(random) < math.exp(-change / temperature))


@njit(cache=True)
def _try_move(v: int, i: int, j: int, problem: _Problem, state: _State, temperature: float, random: np.uint64) -> None:
    change = _added(v, j, problem, state) - _saved(v, i, problem, state)
    if not _accepts(change, temperature, random):
        return
    _read_elsewhere(v, i, j, problem, state)
    state.size[i] -= 1
    last = state.members[state.starts[i] + state.size[i]]
    state.members[state.starts[i] + state.position[v]], state.position[last] = last, state.position[v]
    state.members[state.starts[j] + state.size[j]], state.position[v] = v, state.size[j]
    state.size[j] += 1
    state.server[v] = j
    state.loads[j] += problem.weight[v]
    state.loads[i] -= problem.weight[v]


@njit(cache=True)
def _partner(v: int, i: int, j: int, problem: _Problem, state: _State, random: np.uint64) -> int:
    """The piece on ``j`` that changes places with ``v`` most cheaply, of a few random ones that fit; -1 without one."""
    partner, least = -1, np.inf
    for _ in range(_PARTNERS):
        random = advanced(random)
        other = state.members[state.starts[j] + below(random, state.size[j])]
        heavier = problem.weight[v] - problem.weight[other]
        if state.loads[j] + heavier <= problem.limits[j] and state.loads[i] - heavier <= problem.limits[i]:
            change = _added(other, i, problem, state) - _saved(other, j, problem, state)
            if change < least:
                partner, least = other, change
    return partner


@njit(cache=True)
def _try_swap(v: int, i: int, j: int, problem: _Problem, state: _State, temperature: float, random: np.uint64) -> None:
    change = _added(v, j, problem, state) - _saved(v, i, problem, state)
    other = _partner(v, i, j, problem, state, random)
    if other < 0:
        return
    heavier = problem.weight[v] - problem.weight[other]
    _read_elsewhere(v, i, j, problem, state)
    change += _added(other, i, problem, state) - _saved(other, j, problem, state)
    if not _accepts(change, temperature, random):
        _read_elsewhere(v, j, i, problem, state)
        return
    _read_elsewhere(other, j, i, problem, state)
    state.server[v], state.server[other] = j, i
    state.loads[j] += heavier
    state.loads[i] -= heavier
    here, there = state.position[v], state.position[other]
    state.members[state.starts[i] + here], state.members[state.starts[j] + there] = other, v
    state.position[v], state.position[other] = there, here


@njit(cache=True)
def _anneal(
    problem: _Problem,
    state: _State,
    proposals: int,
    hot: float,
    cold: float,
    smooth_share: float,
    random: np.uint64,
) -> None:
    temperature, warm = hot, (1 - _GREEDY_SHARE) * proposals
    for step in range(proposals):
        if step & 1023 == 0:
            temperature = hot * (cold / hot) ** (step / warm) if step < warm else 0.0
            _set_marginals(state.marginal, step / proposals, smooth_share)
        random = advanced(random)
        v = below(random, len(state.server))
        random = advanced(random)
        s = problem.sources[problem.offsets[v] + below(random, problem.offsets[v + 1] - problem.offsets[v])]
        random = advanced(random)
        first, end = problem.reader_offsets[s], problem.reader_offsets[s + 1]
        i, j = state.server[v], state.server[problem.readers[first + below(random, end - first)]]
        random = advanced(random)
        if i != j and state.loads[j] + problem.weight[v] <= problem.limits[j]:
            _try_move(v, i, j, problem, state, temperature, random)
        elif i != j:
            _try_swap(v, i, j, problem, state, temperature, random)
            random += np.uint64(_PARTNERS) * STEP
