"""Settling: after every arrival at most one live query moves, to where its sources have more readers.

LeastCost decides with what it has seen so far; most of its excess traffic is early decisions that later arrivals
prove wrong. Looking only at moves that save traffic at once finds few: a source must have a single reader left on a
server before its stream there can end. So a move is judged by the weight w(s) * (1 + 1/2 + ... + 1/c) of c readers of
s on a server, summed over sources and servers: leaving c readers saves w(s)/c, joining c costs w(s)/(c + 1), and
the weight falls with every move. Readers of a source gather, and streams to the lone ones end.

Some live queries are drawn at random, and the move that saves most weight is made. Only servers with room under the
limit take part, so balance is as good as LeastCost's. Moving is the handover of a bin of state: at most one per arrival.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whimbrel.placement.bits import lowest
from whimbrel.placement.choosing import Slack, limit_now
from whimbrel.placement.hosting import LIVE, SERVERS, Hosts, Network, move
from whimbrel.placement.randomness import advanced, below
from whimbrel.placement.replicas import readers_on

_LEAST_GAIN = 1e-9
"""In rates of 1: below this a gain may be rounding, and moving for it could go on forever."""


@njit(cache=True)
def _saved_by_leaving(q: int, network: Network, hosts: Hosts) -> float:
    total = 0.0
    for e in range(network.offsets[q], network.offsets[q + 1]):
        s = network.sources[e]
        total += network.rates[s] / readers_on(s, hosts.where[q], hosts.replicas)
    return total


@njit(cache=True)
def _cost_of_joining(q: int, j: int, network: Network, hosts: Hosts) -> float:
    total = 0.0
    for e in range(network.offsets[q], network.offsets[q + 1]):
        s = network.sources[e]
        total += network.rates[s] / (readers_on(s, j, hosts.replicas) + 1)
    return total


@njit(cache=True)
def _cheapest_to_join(q: int, limit: int, network: Network, hosts: Hosts) -> tuple[int, float]:
    """The best other server with room that receives a source of ``q``, and the cost of joining it; -1 without one."""
    j, best = -1, np.inf
    for word in range(hosts.receives.shape[1]):
        touched = np.uint64(0)
        for e in range(network.offsets[q], network.offsets[q + 1]):
            touched |= hosts.receives[network.sources[e], word]
        while touched != 0:
            i = 64 * word + lowest(touched)
            touched &= touched - np.uint64(1)
            if hosts.loads[i] >= limit or i == hosts.where[q]:
                continue
            cost = _cost_of_joining(q, i, network, hosts)
            if cost < best or (cost == best and hosts.loads[i] < hosts.loads[j]):
                best, j = cost, i
    return j, best


@njit(cache=True)
def settle_one(draws: int, slack: Slack, network: Network, hosts: Hosts, state: np.uint64) -> np.uint64:
    """Moves the best of ``draws`` random live queries, if that saves weight; returns the next random state."""
    limit = limit_now(hosts.totals[LIVE], hosts.totals[SERVERS], slack)
    query, target, most = -1, -1, _LEAST_GAIN
    for _ in range(draws):
        state = advanced(state)
        q = hosts.live[below(state, hosts.totals[LIVE])]
        saved = _saved_by_leaving(q, network, hosts)
        if saved <= most:
            continue
        j, cost = _cheapest_to_join(q, limit, network, hosts)
        if j >= 0 and saved - cost > most:
            query, target, most = q, j, saved - cost
    if query >= 0:
        move(query, target, network, hosts)
    return state
