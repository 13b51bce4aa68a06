"""Servers with the queries that they host right now, for compiled kernels that add, move and remove queries.

Invariants: ``receives[s]`` holds the servers on which ``replicas`` counts a reader of ``s``; ``traffic[j]`` is the
rate of the sources that ``j`` receives; ``loads[j]`` counts the queries on ``j``; ``where[q]`` is the server of query
``q``, -1 while it is not live; the live queries are the first ``totals[LIVE]`` entries of ``live``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.placement.bits import drop, has, put, words_for
from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.replicas import Replicas, add_reader, no_replicas, remove_reader

LIVE, MOVES, SERVERS = 0, 1, 2
"""Places in ``Hosts.totals``: live queries, queries moved so far, servers that are up."""


class Network(NamedTuple):
    """Who reads what: query ``q`` reads ``sources[offsets[q]:offsets[q + 1]]`` at ``rates``."""

    offsets: Integers
    sources: Integers
    rates: Floats


class Hosts(NamedTuple):
    """The state of all servers; arrays are changed in place."""

    replicas: Replicas
    receives: NDArray[np.uint64]
    traffic: Floats
    loads: Integers
    up: NDArray[np.bool_]
    where: NDArray[np.int32]
    live: NDArray[np.int32]
    position: NDArray[np.int32]
    readers: Integers
    totals: Integers


def empty_hosts(network: Network, servers: int, most_servers: int) -> Hosts:
    """``servers`` servers that are up, of at most ``most_servers`` ever, and no queries."""
    queries, sources = len(network.offsets) - 1, len(network.rates)
    up = np.arange(most_servers) < servers
    return Hosts(
        no_replicas(np.bincount(network.sources, minlength=sources), most_servers),
        np.zeros((sources, words_for(most_servers)), dtype=np.uint64),
        np.zeros(most_servers),
        np.zeros(most_servers, dtype=np.int64),
        up,
        np.full(queries, -1, dtype=np.int32),
        np.zeros(queries, dtype=np.int32),
        np.zeros(queries, dtype=np.int32),
        np.zeros(sources, dtype=np.int64),
        np.array([0, 0, servers], dtype=np.int64),
    )


@njit(cache=True)
def added_on(q: int, j: int, network: Network, hosts: Hosts) -> float:
    """The rate of the sources of ``q`` that ``j`` does not receive."""
    total = 0.0
    for e in range(network.offsets[q], network.offsets[q + 1]):
        if not has(hosts.receives[network.sources[e]], j):
            total += network.rates[network.sources[e]]
    return total


@njit(cache=True)
def enter(q: int, j: int, network: Network, hosts: Hosts) -> None:
    """Query ``q``, not live so far, starts on server ``j``."""
    hosts.where[q] = j
    hosts.live[hosts.totals[LIVE]], hosts.position[q] = q, hosts.totals[LIVE]
    hosts.totals[LIVE] += 1
    hosts.loads[j] += 1
    for e in range(network.offsets[q], network.offsets[q + 1]):
        s = network.sources[e]
        hosts.readers[s] += 1
        if add_reader(s, j, hosts.replicas) == 1:
            put(hosts.receives[s], j)
            hosts.traffic[j] += network.rates[s]


@njit(cache=True)
def leave(q: int, network: Network, hosts: Hosts) -> None:
    """The live query ``q`` ends."""
    j = hosts.where[q]
    hosts.totals[LIVE] -= 1
    last = hosts.live[hosts.totals[LIVE]]
    hosts.live[hosts.position[q]], hosts.position[last] = last, hosts.position[q]
    hosts.where[q] = -1
    hosts.loads[j] -= 1
    for e in range(network.offsets[q], network.offsets[q + 1]):
        s = network.sources[e]
        hosts.readers[s] -= 1
        if remove_reader(s, j, hosts.replicas) == 0:
            drop(hosts.receives[s], j)
            hosts.traffic[j] -= network.rates[s]


@njit(cache=True)
def move(q: int, j: int, network: Network, hosts: Hosts) -> None:
    """The live query ``q`` moves to server ``j``; counted in ``totals[MOVES]``."""
    leave(q, network, hosts)
    enter(q, j, network, hosts)
    hosts.totals[MOVES] += 1
