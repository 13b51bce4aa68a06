"""Queries and servers that come and go under an online rule, with a time series of traffic and balance.

A query that departs frees its server at once. A server that goes, in order or by failing, has its queries placed again
as if they arrived anew, in the order of their numbers. Each counts as a forced move; those of servers that failed are
counted as restored too, because their state comes from its durable copy and not from its server. Settling
(``settle_draws`` > 0) moves at most one more query per arrival. The last server never goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whimbrel.model.errors import BadInput
from whimbrel.placement.choosing import GREEDY, RANDOM, choose
from whimbrel.placement.churn import DEPART, SERVER_FAILS, SERVER_GOES, SERVER_JOINS, Events
from whimbrel.placement.hosting import (
    CAPACITY,
    LIVE,
    MOVES,
    SERVERS,
    WORK,
    Hosts,
    Network,
    empty_hosts,
    enter,
    leave,
    network_of,
    set_up,
    types_as_sources,
)
from whimbrel.placement.instance import Floats, Integers, PlacementInstance
from whimbrel.placement.randomness import first_state
from whimbrel.placement.room import Slack, slack_of
from whimbrel.placement.settling import Settling, arrive, arrive_and_settle, new_settling, settled_out

RULES = ("least-cost", "least-source", "least-qt", "on-rand", "settling")
"""The online rules that the simulator knows; ``settling`` is least-cost with one re-placement per arrival."""

EVEN_SLACK = Fraction(1)
"""Settling lets no server carry more than the mean and so many of the heaviest queries."""

SETTLE_DRAWS = 64
"""Queries that settling looks at per arrival; more finds better moves, at a cost in proportion."""

COLUMNS = ("step", "live", "servers", "traffic", "used_rate", "max_load", "settled", "forced", "restored", "imbalance")


class _View(NamedTuple):
    """What queries read and where they are; LeastQT judges by a view of its own, in which types are sources."""

    network: Network
    hosts: Hosts


class _Policy(NamedTuple):
    """The rule, whether it judges by its own view, the slack, and settling, which is a rule by itself."""

    rule: int
    apart: bool
    slack: Slack
    settles: bool
    settling: Settling


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
        """The fullest server's work per mean work, both per capacity, at every sample; 1 where nothing is live."""
        return self.column("imbalance")


def simulate(
    instance: PlacementInstance,
    events: Events,
    rule: str,
    rng: np.random.Generator,
    samples: int = 100,
    settle_draws: int = SETTLE_DRAWS,
) -> Course:
    """The course of a rule over the events. Raises BadInput for an unknown rule or too few queries."""
    if rule not in RULES:
        raise BadInput(f"there is no online rule '{rule}': use one of {', '.join(RULES)}")
    if instance.queries < events.arrivals:
        raise BadInput(f"{events.arrivals} queries arrive and the instance has {instance.queries}: generate more")
    most = instance.servers + events.joins
    capacity = int(np.resize(instance.capacities, most).sum())
    bounds = (instance.total_work, capacity, int(instance.capacities.max()))
    slack = slack_of(instance.nu, instance.alpha, *bounds)
    even = slack_of(Fraction(0), EVEN_SLACK * int(instance.work.max(initial=1)), *bounds)
    network = network_of(instance)
    real = _View(network, empty_hosts(network, instance.capacities, most, rule == "least-source"))
    judged = real
    if rule == "least-qt":
        types = types_as_sources(instance)
        judged = _View(types, empty_hosts(types, instance.capacities, most, weigh_traffic=True))
    settles = rule == "settling"
    settling = new_settling(network, most, settle_draws if settles else 0, slack, even)
    policy = _Policy(RANDOM if rule == "on-rand" else GREEDY, rule == "least-qt", slack, settles, settling)
    every = max(1, -(-events.steps // samples))
    log = _Log(events.step, events.kind, events.subject, events.steps)
    series = _run(log, real, judged, policy, every, first_state(rng))
    settled, forced, restored = (int(series[-1, COLUMNS.index(name)]) for name in ("settled", "forced", "restored"))
    return Course(series, real.hosts.where.astype(np.int64), settled, forced, restored)


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
def _arrive(q: int, again: bool, real: _View, judged: _View, policy: _Policy, state: np.uint64) -> np.uint64:
    """The query starts; one that is placed ``again`` because its server went lets no other move."""
    if policy.settles and again:
        arrive(q, real.network, real.hosts, policy.settling)
        return state
    if policy.settles:
        return arrive_and_settle(q, real.network, real.hosts, policy.settling, state)
    j, state = choose(q, policy.rule, policy.slack, judged.network, judged.hosts, state)
    enter(q, j, real.network, real.hosts)
    if policy.apart:
        enter(q, j, judged.network, judged.hosts)
    return state


@njit(cache=True)
def _depart(q: int, real: _View, judged: _View, policy: _Policy) -> None:
    if policy.settles:
        settled_out(q, real.network, real.hosts, policy.settling)
    else:
        leave(q, real.network, real.hosts)
    if policy.apart:
        leave(q, judged.network, judged.hosts)


@njit(cache=True)
def _set_up(j: int, up: bool, real: _View, judged: _View, policy: _Policy) -> None:
    set_up(j, up, real.hosts)
    if policy.apart:
        set_up(j, up, judged.hosts)


@njit(cache=True)
def _go(gone: int, real: _View, judged: _View, policy: _Policy, state: np.uint64) -> tuple[int, np.uint64]:
    """A server goes and its queries are placed again: (how many, the next random state)."""
    homeless = np.flatnonzero(real.hosts.where == gone)
    for q in homeless:
        _depart(q, real, judged, policy)
    _set_up(gone, False, real, judged, policy)
    for q in homeless:
        state = _arrive(q, True, real, judged, policy, state)
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
    mean = hosts.totals[WORK] / hosts.totals[CAPACITY]
    row[9] = hosts.fullness.max() / mean if mean > 0 else 1.0


@njit(cache=True)
def _run(log: _Log, real: _View, judged: _View, policy: _Policy, every: int, state: np.uint64) -> Floats:
    series = np.zeros((log.steps // every + 2, 10))
    taken, forced, restored = 0, 0, 0
    for e in range(len(log.step)):
        while log.step[e] >= (taken + 1) * every:
            _sample(series[taken], (taken + 1) * every, forced, restored, real)
            taken += 1
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
            state = _arrive(log.subject[e], False, real, judged, policy, state)
    _sample(series[taken], log.steps, forced, restored, real)
    return series[: taken + 1]
