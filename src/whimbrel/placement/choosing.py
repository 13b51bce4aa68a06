"""Which server takes a query that arrives now: the online rules over live servers, for compiled kernels.

The same rules as in ``arrivals``, for a number of queries and servers that changes both ways. Equally good servers:
the least loaded one, then the one with the lowest number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whimbrel.placement.bits import lowest
from whimbrel.placement.hosting import LIVE, SERVERS, Hosts, Network, added_on
from whimbrel.placement.randomness import advanced, below

LEAST_COST, LEAST_SOURCE, RANDOM = 0, 1, 2
"""What a rule weighs: the added traffic; the server's traffic afterwards; nothing."""

TRIES = 64


class Slack(NamedTuple):
    """nu = ``nu_top`` / ``nu_bottom`` and alpha = ``alpha_top`` / ``alpha_bottom``, in whole numbers."""

    nu_top: int
    nu_bottom: int
    alpha_top: int
    alpha_bottom: int


@njit(cache=True)
def limit_now(total: int, servers: int, slack: Slack) -> int:
    """The most queries on one of ``servers`` servers when ``total`` are live: the larger of the two limits."""
    relative = total * (slack.nu_top + slack.nu_bottom) // (servers * slack.nu_bottom)
    absolute = (total * slack.alpha_bottom + slack.alpha_top * servers) // (servers * slack.alpha_bottom)
    return max(relative, absolute)


@njit(cache=True)
def least_loaded(hosts: Hosts) -> int:
    """The server with the fewest queries."""
    best = -1
    for j in range(len(hosts.loads)):
        if hosts.up[j] and (best < 0 or hosts.loads[j] < hosts.loads[best]):
            best = j
    return best


@njit(cache=True)
def _is_better(key: float, i: int, best: float, j: int, hosts: Hosts) -> bool:
    if key != best:
        return key < best
    return j < 0 or hosts.loads[i] < hosts.loads[j] or (hosts.loads[i] == hosts.loads[j] and i < j)


@njit(cache=True)
def best_sharing(q: int, weigh: bool, limit: int, network: Network, hosts: Hosts) -> tuple[int, float]:
    """The best server with room that receives a source of ``q``, and its key: (-1, inf) without one."""
    j, best = -1, np.inf
    start, end = network.offsets[q], network.offsets[q + 1]
    for word in range(hosts.receives.shape[1]):
        touched = np.uint64(0)
        for e in range(start, end):
            touched |= hosts.receives[network.sources[e], word]
        while touched != 0:
            i = 64 * word + lowest(touched)
            touched &= touched - np.uint64(1)
            if hosts.loads[i] >= limit:
                continue
            key = added_on(q, i, network, hosts)
            if weigh:
                key += hosts.traffic[i]
            if _is_better(key, i, best, j, hosts):
                best, j = key, i
    return j, best


@njit(cache=True)
def _greedy(q: int, weigh: bool, limit: int, network: Network, hosts: Hosts) -> int:
    j, best = best_sharing(q, weigh, limit, network, hosts)
    whole = 0.0
    for e in range(network.offsets[q], network.offsets[q + 1]):
        whole += network.rates[network.sources[e]]
    if j >= 0 and not weigh and best < whole:
        return j
    for i in range(len(hosts.loads)):
        if hosts.up[i] and hosts.loads[i] < limit:
            key = added_on(q, i, network, hosts) + (hosts.traffic[i] if weigh else 0.0)
            if _is_better(key, i, best, j, hosts):
                best, j = key, i
    return j


@njit(cache=True)
def _random(limit: int, hosts: Hosts, state: np.uint64) -> int:
    for _ in range(TRIES):
        state = advanced(state)
        j = below(state, len(hosts.loads))
        if hosts.up[j] and hosts.loads[j] < limit:
            return j
    fitting = [j for j in range(len(hosts.loads)) if hosts.up[j] and hosts.loads[j] < limit]
    return fitting[below(advanced(state), len(fitting))] if len(fitting) > 0 else -1


@njit(cache=True)
def choose(q: int, rule: int, slack: Slack, network: Network, hosts: Hosts, state: np.uint64) -> int:
    """The server for the arriving query ``q``, which is not live yet."""
    limit = limit_now(hosts.totals[LIVE] + 1, hosts.totals[SERVERS], slack)
    j = _random(limit, hosts, state) if rule == RANDOM else _greedy(q, rule == LEAST_SOURCE, limit, network, hosts)
    return j if j >= 0 else least_loaded(hosts)
