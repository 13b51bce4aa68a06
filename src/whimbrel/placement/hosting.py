"""Servers with the queries that they host right now, for compiled kernels that add, move and remove queries.

Invariants: ``receives[s]`` holds the ``reach[s]`` servers on which ``replicas`` counts one of the ``readers[s]``
readers of ``s``; ``traffic[j]`` is the rate of the sources that ``j`` receives; ``loads[j]`` is the work on ``j`` and
``fullness[j]`` that per capacity; ``where[q]`` is the server of query ``q``, -1 while it is not live; the live queries
are the first ``totals[LIVE]`` entries of ``live``; ``heap`` holds the servers that are up, the one with the least
(``value``, ``fullness``, number) on top, where ``value`` is the part of a rule's key that the server itself brings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.placement.bits import drop, has, put, words_for
from whimbrel.placement.heaps import insert_item, lower_item, raise_item, remove_item
from whimbrel.placement.instance import Floats, Integers, PlacementInstance
from whimbrel.placement.query_types import merge_types
from whimbrel.placement.replicas import Replicas, add_reader, no_replicas, remove_reader

LIVE, MOVES, SERVERS, WORK, CAPACITY = 0, 1, 2, 3, 4
"""Places in ``Hosts.totals``: live queries, moves so far, servers that are up, work of the live, capacity that is up."""


class Network(NamedTuple):
    """Who reads what: query ``q`` reads ``sources[offsets[q]:offsets[q + 1]]`` at ``rates`` and brings ``work[q]``."""

    offsets: Integers
    sources: Integers
    rates: Floats
    work: Integers


def network_of(instance: PlacementInstance) -> Network:
    """What the queries of an instance read."""
    return Network(instance.offsets, instance.sources, instance.rates, instance.work)


def types_as_sources(instance: PlacementInstance) -> Network:
    """The network in which every query reads one source of rate 1, its type: LeastQT is LeastSource on it."""
    types = merge_types(instance)
    return Network(np.arange(instance.queries + 1), types.type_of, np.ones(types.types), instance.work)


class Hosts(NamedTuple):
    """The state of all servers; arrays are changed in place."""

    replicas: Replicas
    receives: NDArray[np.uint64]
    traffic: Floats
    loads: Integers
    capacity: Integers
    fullness: Floats
    up: NDArray[np.bool_]
    value: Floats
    heap: Integers
    place: Integers
    where: NDArray[np.int32]
    live: NDArray[np.int32]
    position: NDArray[np.int32]
    readers: Integers
    reach: Integers
    totals: Integers


def empty_hosts(network: Network, capacities: Integers, most_servers: int, weigh_traffic: bool) -> Hosts:
    """A server for each of ``capacities`` that is up, of at most ``most_servers`` ever, and no queries.

    A server that joins later has the capacity of one of the first: server j that of server j modulo their number.
    ``weigh_traffic`` makes a server's traffic its ``value``.
    """
    queries, sources, servers = len(network.offsets) - 1, len(network.rates), len(capacities)
    capacity, traffic = np.resize(capacities, most_servers), np.zeros(most_servers)
    number = np.arange(most_servers)
    return Hosts(
        no_replicas(np.bincount(network.sources, minlength=sources), most_servers),
        np.zeros((sources, words_for(most_servers)), dtype=np.uint64),
        traffic,
        np.zeros(most_servers, dtype=np.int64),
        capacity,
        np.zeros(most_servers),
        number < servers,
        traffic if weigh_traffic else np.zeros(most_servers),
        number.copy(),
        np.where(number < servers, number, -1),
        np.full(queries, -1, dtype=np.int32),
        np.zeros(queries, dtype=np.int32),
        np.zeros(queries, dtype=np.int32),
        np.zeros(sources, dtype=np.int64),
        np.zeros(sources, dtype=np.int64),
        np.array([0, 0, servers, 0, int(capacities.sum())], dtype=np.int64),
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
def set_up(j: int, up: bool, hosts: Hosts) -> None:
    """Server ``j``, which hosts nothing, joins or goes."""
    size = hosts.totals[SERVERS]
    hosts.up[j] = up
    hosts.totals[SERVERS] += 1 if up else -1
    hosts.totals[CAPACITY] += hosts.capacity[j] if up else -hosts.capacity[j]
    if up:
        insert_item(j, hosts.heap, hosts.place, hosts.value, hosts.fullness, size)
    else:
        remove_item(j, hosts.heap, hosts.place, hosts.value, hosts.fullness, size)


@njit(cache=True)
def _carry(j: int, work: int, hosts: Hosts) -> None:
    """Server ``j`` carries so much more; to be called after its traffic has changed."""
    hosts.loads[j] += work
    hosts.totals[WORK] += work
    hosts.fullness[j] = hosts.loads[j] / hosts.capacity[j]
    if hosts.place[j] >= 0:
        raise_item(j, hosts.heap, hosts.place, hosts.value, hosts.fullness)
        lower_item(j, hosts.heap, hosts.place, hosts.value, hosts.fullness, hosts.totals[SERVERS])


@njit(cache=True)
def enter(q: int, j: int, network: Network, hosts: Hosts) -> None:
    """Query ``q``, not live so far, starts on server ``j``."""
    hosts.where[q] = j
    hosts.live[hosts.totals[LIVE]], hosts.position[q] = q, hosts.totals[LIVE]
    hosts.totals[LIVE] += 1
    for e in range(network.offsets[q], network.offsets[q + 1]):
        s = network.sources[e]
        hosts.readers[s] += 1
        if add_reader(s, j, hosts.replicas) == 1:
            put(hosts.receives[s], j)
            hosts.reach[s] += 1
            hosts.traffic[j] += network.rates[s]
    _carry(j, network.work[q], hosts)


@njit(cache=True)
def leave(q: int, network: Network, hosts: Hosts) -> None:
    """The live query ``q`` ends."""
    j = hosts.where[q]
    hosts.totals[LIVE] -= 1
    last = hosts.live[hosts.totals[LIVE]]
    hosts.live[hosts.position[q]], hosts.position[last] = last, hosts.position[q]
    hosts.where[q] = -1
    for e in range(network.offsets[q], network.offsets[q + 1]):
        s = network.sources[e]
        hosts.readers[s] -= 1
        if remove_reader(s, j, hosts.replicas) == 0:
            drop(hosts.receives[s], j)
            hosts.reach[s] -= 1
            hosts.traffic[j] -= network.rates[s]
    _carry(j, -network.work[q], hosts)


@njit(cache=True)
def move(q: int, j: int, network: Network, hosts: Hosts) -> None:
    """The live query ``q`` moves to server ``j``; counted in ``totals[MOVES]``."""
    leave(q, network, hosts)
    enter(q, j, network, hosts)
    hosts.totals[MOVES] += 1
