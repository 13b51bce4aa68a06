"""Simulated annealing over pieces: moves to servers that read the same sources, and swaps where there is no room.

A proposal takes a random piece, one of its sources, another reader of that source, and tries to join it. Where that
server has no room the piece changes places with a random one from there, if both then fit. A change that adds d to
the traffic is taken with probability exp(-d / temperature). The limits hold after every step.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.randomness import advanced, below, unit_of
from whimbrel.placement.replicas import Rows, add_reader, count_of, new_rows, remove_reader
from whimbrel.placement.pieces import Pieces


def anneal(
    pieces: Pieces, rates: Floats, limits: Integers, server: Integers, proposals: int,
    hot: float, cold: float, state: np.uint64,
) -> Integers:  # fmt: skip
    """A better placement of the pieces, from ``server``, which must keep the limits.

    The temperature falls from ``hot`` to ``cold`` times the mean rate, by equal factors.
    """
    rows = new_rows(np.diff(pieces.reader_offsets), len(limits))
    found = server.astype(np.int32)
    read = rates[pieces.sources]
    unit = float(read.mean()) if read.size and read.mean() > 0 else 1.0
    _anneal(
        pieces.offsets, pieces.sources, pieces.weight, pieces.reader_offsets, pieces.readers, rates, limits,
        found, rows, proposals, hot * unit, cold * unit, state,
    )  # fmt: skip
    return found.astype(np.int64)


@njit(cache=True)
def _saved(v, i, offsets, sources, rates, rows):  # type: ignore[no-untyped-def]
    """The traffic that ends when piece ``v`` leaves server ``i``."""
    total = 0.0
    for e in range(offsets[v], offsets[v + 1]):
        if count_of(sources[e], i, rows) == 1:
            total += rates[sources[e]]
    return total


@njit(cache=True)
def _added(v, j, offsets, sources, rates, rows):  # type: ignore[no-untyped-def]
    """The traffic that begins when piece ``v`` joins server ``j``."""
    total = 0.0
    for e in range(offsets[v], offsets[v + 1]):
        if count_of(sources[e], j, rows) == 0:
            total += rates[sources[e]]
    return total


@njit(cache=True)
def _take(v, i, j, offsets, sources, rows):  # type: ignore[no-untyped-def]
    for e in range(offsets[v], offsets[v + 1]):
        remove_reader(sources[e], i, rows)
        add_reader(sources[e], j, rows)


@njit(cache=True)
def _relist(v, i, j, members, starts, size, position):  # type: ignore[no-untyped-def]
    size[i] -= 1
    last = members[starts[i] + size[i]]
    members[starts[i] + position[v]] = last
    position[last] = position[v]
    members[starts[j] + size[j]] = v
    position[v] = size[j]
    size[j] += 1


@njit(cache=True)
def _accepts(change, temperature, state):  # type: ignore[no-untyped-def]
    return change <= 0 or (change < 20 * temperature and unit_of(state) < math.exp(-change / temperature))


@njit(cache=True)
def _try_swap(
    v,
    i,
    j,
    offsets,
    sources,
    weight,
    rates,
    limits,
    server,
    loads,
    members,
    starts,
    size,
    position,
    rows,
    temperature,
    state,
):  # type: ignore[no-untyped-def]
    other = members[starts[j] + below(state, size[j])]
    if loads[j] + weight[v] - weight[other] > limits[j] or loads[i] + weight[other] - weight[v] > limits[i]:
        return
    change = _added(v, j, offsets, sources, rates, rows) - _saved(v, i, offsets, sources, rates, rows)
    _take(v, i, j, offsets, sources, rows)
    change += _added(other, i, offsets, sources, rates, rows) - _saved(other, j, offsets, sources, rates, rows)
    if not _accepts(change, temperature, advanced(state)):
        _take(v, j, i, offsets, sources, rows)
        return
    _take(other, j, i, offsets, sources, rows)
    server[v], server[other] = j, i
    loads[j] += weight[v] - weight[other]
    loads[i] += weight[other] - weight[v]
    a, b = position[v], position[other]
    members[starts[i] + a], members[starts[j] + b] = other, v
    position[v], position[other] = b, a


@njit(cache=True)
def _anneal(
    offsets, sources, weight, reader_offsets, readers, rates, limits, server, rows, proposals, hot, cold, state
):  # type: ignore[no-untyped-def]
    count, servers = len(server), len(limits)
    loads, size = np.zeros(servers, dtype=np.int64), np.zeros(servers, dtype=np.int64)
    lightest = weight.min()
    starts = np.zeros(servers + 1, dtype=np.int64)
    for j in range(servers):
        starts[j + 1] = starts[j] + limits[j] // lightest + 1
    members, position = np.zeros(starts[servers], dtype=np.int32), np.zeros(count, dtype=np.int32)
    for v in range(count):
        j = server[v]
        members[starts[j] + size[j]], position[v] = v, size[j]
        size[j] += 1
        loads[j] += weight[v]
        for e in range(offsets[v], offsets[v + 1]):
            add_reader(sources[e], j, rows)
    cooling = (cold / hot) ** (1.0 / max(1, proposals // 1024))
    temperature = hot
    for step in range(proposals):
        if step & 1023 == 1023:
            temperature *= cooling
        state = advanced(state)
        v = below(state, count)
        state = advanced(state)
        s = sources[offsets[v] + below(state, offsets[v + 1] - offsets[v])]
        state = advanced(state)
        i, j = server[v], server[readers[reader_offsets[s] + below(state, reader_offsets[s + 1] - reader_offsets[s])]]
        if i == j:
            continue
        state = advanced(state)
        if loads[j] + weight[v] > limits[j]:
            _try_swap(
                v,
                i,
                j,
                offsets,
                sources,
                weight,
                rates,
                limits,
                server,
                loads,
                members,
                starts,
                size,
                position,
                rows,
                temperature,
                state,
            )
            state = advanced(state)
            continue
        change = _added(v, j, offsets, sources, rates, rows) - _saved(v, i, offsets, sources, rates, rows)
        if _accepts(change, temperature, state):
            _take(v, i, j, offsets, sources, rows)
            _relist(v, i, j, members, starts, size, position)
            server[v] = j
            loads[j] += weight[v]
            loads[i] -= weight[v]
