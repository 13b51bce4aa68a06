"""Queries and servers that come and go under an online rule, with a time series of traffic and balance.

A query that departs frees its server at once. A server that goes, in order or by failing, has its queries placed again
as if they arrived anew, in the order of their numbers. Each counts as a forced move; those of servers that failed are
counted as restored too, because their state comes from its durable copy and not from its server. Settling
(``settle_draws`` > 0) moves at most one more query per arrival. The last server never goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.model.errors import BadInput
from whimbrel.placement.choosing import LEAST_COST, LEAST_SOURCE, RANDOM, Slack, choose
from whimbrel.placement.churn import DEPART, SERVER_FAILS, SERVER_GOES, SERVER_JOINS, Events
from whimbrel.placement.hosting import LIVE, MOVES, SERVERS, Hosts, Network, empty_hosts, enter, leave
from whimbrel.placement.instance import Floats, Integers, PlacementInstance
from whimbrel.placement.query_types import merge_types
from whimbrel.placement.randomness import advanced, first_state
from whimbrel.placement.settling import settle_one

RULES = ("least-cost", "least-source", "least-qt", "on-rand", "settling")
"""The online rules that the simulator knows; ``settling`` is least-cost with one re-placement per arrival."""

_WEIGHS = {"least-cost": LEAST_COST, "least-source": LEAST_SOURCE, "least-qt": LEAST_SOURCE, "on-rand": RANDOM}

SETTLE_DRAWS = 24
"""Queries that settling looks at per arrival; more finds better moves, at a cost in proportion."""

_EXACT_IN_64_BITS = 2**62

COLUMNS = ("step", "live", "servers", "traffic", "used_rate", "max_load", "settled", "forced", "restored")


class _View(NamedTuple):
    """What queries read and where they are; LeastQT judges by a view of its own, in which types are sources."""

    network: Network
    hosts: Hosts


class _Policy(NamedTuple):
    """The rule, how many queries settling draws, whether the rule judges by its own view, and the slack."""

    rule: int
    settle_draws: int
    apart: bool
    slack: Slack


class _Log(NamedTuple):
    """``Events`` for kernels."""

    step: Integers
    kind: NDArray[np.int8]
    subject: Integers
    steps: int


@dataclass(frozen=True, eq=False)
class Course:
    """``series`` has one row per sample and the columns of ``COLUMNS``; ``server`` is -1 for queries that are gone."""

    series: Floats
    server: Integers
    settled: int
    forced: int
    restored: int

    def column(self, name: str) -> Floats:
        """One column of the series."""
        return self.series[:, COLUMNS.index(name)]

    def replication_factors(self) -> Floats:
        """Traffic per rate of the sources in use, at every sample; 1 where nothing is in use."""
        used = self.column("used_rate")
        return np.divide(self.column("traffic"), used, out=np.ones_like(used), where=used > 0)

    def imbalances(self) -> Floats:
        """The fullest server's load per mean load, at every sample; 1 where nothing is live."""
        mean = self.column("live") / self.column("servers")
        return np.divide(self.column("max_load"), mean, out=np.ones_like(mean), where=mean > 0)


def simulate(
    instance: PlacementInstance,
    events: Events,
    rule: str,
    rng: np.random.Generator,
    samples: int = 100,
    settle_draws: int = SETTLE_DRAWS,
) -> Course:
    """The course of a rule over the events. Queries of equal work and servers of equal capacity only (BadInput)."""
    if rule not in RULES:
        raise BadInput(f"there is no online rule '{rule}': use one of {', '.join(RULES)}")
    if not instance.is_uniform:
        raise BadInput("the simulator needs queries of work 1 and servers of equal capacity: use place for others")
    if instance.queries < events.arrivals:
        raise BadInput(f"{events.arrivals} queries arrive and the instance has {instance.queries}: generate more")
    slack = _slack_of(instance, events)
    network = Network(instance.offsets, instance.sources, instance.rates)
    most = instance.servers + events.joins
    real = _View(network, empty_hosts(network, instance.servers, most))
    judged = real
    if rule == "least-qt":
        types = _types_as_sources(instance)
        judged = _View(types, empty_hosts(types, instance.servers, most))
    draws = settle_draws if rule == "settling" else 0
    policy = _Policy(_WEIGHS.get(rule, LEAST_COST), draws, rule == "least-qt", slack)
    every = max(1, -(-events.steps // samples))
    log = _Log(events.step, events.kind, events.subject, events.steps)
    series = _run(log, real, judged, policy, every, first_state(rng))
    settled, forced, restored = (int(series[-1, COLUMNS.index(name)]) for name in ("settled", "forced", "restored"))
    return Course(series, real.hosts.where.astype(np.int64), settled, forced, restored)


def _slack_of(instance: PlacementInstance, events: Events) -> Slack:
    """Both slacks in whole numbers; BadInput where limits would leave the 64 bits that kernels count in."""
    nu, alpha, most = instance.nu, instance.alpha, instance.servers + events.joins
    largest = max(
        events.arrivals * (nu.numerator + nu.denominator),
        events.arrivals * alpha.denominator + alpha.numerator * most,
        most * max(nu.denominator, alpha.denominator),
    )
    if largest >= _EXACT_IN_64_BITS:
        raise BadInput(f"nu = {float(nu)} and alpha = {float(alpha)} are too large or too fine for the simulator")
    return Slack(nu.numerator, nu.denominator, alpha.numerator, alpha.denominator)


def _types_as_sources(instance: PlacementInstance) -> Network:
    types = merge_types(instance)
    return Network(np.arange(instance.queries + 1), types.type_of, np.ones(types.types))


@njit(cache=True)
def _server_that_goes(draw: int, hosts: Hosts) -> int:
    """The server that a random number in [0, 2^31) stands for; -1 where only one is up."""
    if hosts.totals[SERVERS] < 2:
        return -1
    left = (draw * hosts.totals[SERVERS]) >> 31
    for j in range(len(hosts.up)):
        if hosts.up[j]:
            if left == 0:
                return j
            left -= 1
    return -1


@njit(cache=True)
def _arrive(q: int, real: _View, judged: _View, policy: _Policy, state: np.uint64) -> None:
    j = choose(q, policy.rule, policy.slack, judged.network, judged.hosts, state)
    enter(q, j, real.network, real.hosts)
    if policy.apart:
        enter(q, j, judged.network, judged.hosts)


@njit(cache=True)
def _depart(q: int, real: _View, judged: _View, policy: _Policy) -> None:
    leave(q, real.network, real.hosts)
    if policy.apart:
        leave(q, judged.network, judged.hosts)


@njit(cache=True)
def _set_up(j: int, up: bool, real: _View, judged: _View, policy: _Policy) -> None:
    real.hosts.up[j] = up
    real.hosts.totals[SERVERS] += 1 if up else -1
    if policy.apart:
        judged.hosts.up[j] = up
        judged.hosts.totals[SERVERS] += 1 if up else -1


@njit(cache=True)
def _go(gone: int, real: _View, judged: _View, policy: _Policy, state: np.uint64) -> tuple[int, np.uint64]:
    """A server goes and its queries are placed again: (how many, the next random state)."""
    _set_up(gone, False, real, judged, policy)
    homeless = np.flatnonzero(real.hosts.where == gone)
    for q in homeless:
        _depart(q, real, judged, policy)
    for q in homeless:
        state = advanced(state)
        _arrive(q, real, judged, policy, state)
    return len(homeless), state


@njit(cache=True)
def _join(real: _View, judged: _View, policy: _Policy) -> None:
    for j in range(len(real.hosts.up)):
        if not real.hosts.up[j]:
            _set_up(j, True, real, judged, policy)
            break


@njit(cache=True)
def _sample(row: Floats, step: int, forced: int, restored: int, real: _View) -> None:
    hosts, used = real.hosts, 0.0
    for s in range(len(real.network.rates)):
        if hosts.readers[s] > 0:
            used += real.network.rates[s]
    row[0], row[1], row[2] = step, hosts.totals[LIVE], hosts.totals[SERVERS]
    row[3], row[4], row[5] = hosts.traffic.sum(), used, hosts.loads.max()
    row[6], row[7], row[8] = hosts.totals[MOVES], forced, restored


@njit(cache=True)
def _run(log: _Log, real: _View, judged: _View, policy: _Policy, every: int, state: np.uint64) -> Floats:
    series = np.zeros((log.steps // every + 2, 9))
    taken, forced, restored = 0, 0, 0
    for e in range(len(log.step)):
        while log.step[e] >= (taken + 1) * every:
            _sample(series[taken], (taken + 1) * every, forced, restored, real)
            taken += 1
        state = advanced(state)
        if log.kind[e] == DEPART:
            _depart(log.subject[e], real, judged, policy)
        elif log.kind[e] == SERVER_JOINS:
            _join(real, judged, policy)
        elif log.kind[e] == SERVER_GOES or log.kind[e] == SERVER_FAILS:
            gone = _server_that_goes(log.subject[e], real.hosts)
            if gone >= 0:
                placed, state = _go(gone, real, judged, policy, state)
                forced += placed
                restored += placed if log.kind[e] == SERVER_FAILS else 0
        else:
            _arrive(log.subject[e], real, judged, policy, state)
            if policy.settle_draws:
                state = settle_one(policy.settle_draws, policy.slack, real.network, real.hosts, state)
    _sample(series[taken], log.steps, forced, restored, real)
    return series[: taken + 1]
