"""``whimbrel bench placement``: how long placements take, warm, and how good they are.

One case per algorithm and size: ``n`` queries of ``d`` sources on ``k`` servers. ``ms`` is the median time of the
algorithm alone, on an instance in memory; ``certified`` says that the independent check found no fault: every query
placed, every limit kept, the cost right, the lower bound under it. All algorithms of a size get the same instance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from whimbrel.bench.choosing import wanted
from whimbrel.placement import PlacementInstance, faults_of, generate_instance, place
from whimbrel.placement.arrivals import prepare_arrivals
from whimbrel.placement.catalogue import DEFAULT_ORDERS
from whimbrel.placement.greedy_arrivals import place_by_least_cost, place_by_least_source, place_by_least_types
from whimbrel.placement.incremental_cost import place_by_incremental_cost
from whimbrel.placement.instance import Integers
from whimbrel.placement.min_max_server import place_by_server_traffic
from whimbrel.placement.minimum_packing import place_by_minimum_packing
from whimbrel.placement.result import placement_of
from whimbrel.placement.rounds import prepare

Clock = Callable[[], float]

OFFLINE: dict[str, Callable[..., Integers]] = {
    "mqp": place_by_minimum_packing,
    "ic": place_by_incremental_cost,
    "mms": place_by_server_traffic,
}
ONLINE: dict[str, Callable[..., Integers]] = {
    "least-cost": place_by_least_cost,
    "least-source": place_by_least_source,
    "least-qt": place_by_least_types,
}
BETA = 2.0
CHURN_STEPS = 1_000_000


NAMES = (*OFFLINE, *ONLINE, "partitioner", "churn")
"""What can be measured: algorithms, and the rules for arrivals with departures."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """``queries`` on ``servers``, the ``large`` number of queries for the fastest, and steps of churn."""

    queries: int = 100_000
    servers: int = 100
    large: int = 1_000_000
    steps: int = CHURN_STEPS

    @staticmethod
    def of(options: Mapping[str, Any]) -> Sizes:
        """The usual sizes times ``scale``; those that are named are as named, and without a large case."""
        scale = float(options.get("scale") or 1)
        queries = int(options.get("queries") or max(1, round(100_000 * scale)))
        servers = int(options.get("servers") or max(1, min(100, queries // 100)))
        is_large = options.get("large", True) and not (options.get("queries") or options.get("servers"))
        steps = int(options.get("steps") or max(10, round(CHURN_STEPS * scale)))
        return Sizes(queries, servers, max(1, round(1_000_000 * scale)) if is_large else 0, steps)


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """Measures every case. Options: ``peers`` (names of NAMES), ``queries``, ``servers``, ``steps``, ``scale``,
    ``seconds`` (how long a case is repeated at most), ``seed``, ``repeats``, ``large`` (default true), ``clock``.
    """
    chosen, sizes = wanted(options, NAMES, what="algorithm"), Sizes.of(options)
    bench = _Bench(
        int(options.get("seed") or 1),
        int(options.get("repeats") or 5),
        float(options.get("seconds") or math.inf),
        options.get("clock") or time.perf_counter,
    )
    n, k = sizes.queries, sizes.servers
    cases = bench.offline(n, k, [name for name in OFFLINE if name in chosen])
    cases += bench.online(n, k, [name for name in ONLINE if name in chosen])
    if "partitioner" in chosen:
        cases += [bench.partitioner(n, k, solver) for solver in _solvers()]
    if sizes.large and "least-cost" in chosen:
        cases += bench.online(sizes.large, 10 * k, ["least-cost"])
    if "churn" in chosen:
        cases += [bench.churn(sizes.steps, k, rule) for rule in ("least-cost", "settling")]
    return {"bench": "placement", "beta": BETA, "seed": bench.seed, "cases": cases}


def _instance(n: int, k: int, seed: int) -> PlacementInstance:
    return generate_instance(n, BETA, 2, k, np.random.default_rng(seed))


@dataclass(frozen=True, slots=True)
class _Bench:
    seed: int
    repeats: int
    seconds: float
    clock: Clock

    def offline(self, n: int, k: int, names: Sequence[str]) -> list[dict[str, Any]]:
        instance, cases = _instance(n, k, self.seed), []
        for name in names:
            order = DEFAULT_ORDERS[name]
            OFFLINE[name](prepare(_instance(200, 5, self.seed), order, self._random()))
            prepared = prepare(instance, order, self._random())
            server, found = self._timed(
                lambda name=name, order=order: OFFLINE[name](prepare(instance, order, self._random())),  # type: ignore[misc]
                min(self.repeats, 3),
            )
            cases.append(_case(name, instance, server, prepared.limits, found, order=order))
        return cases

    def online(self, n: int, k: int, names: Sequence[str]) -> list[dict[str, Any]]:
        instance, cases = _instance(n, k, self.seed), []
        online = prepare_arrivals(instance)
        for name in names:
            ONLINE[name](prepare_arrivals(_instance(200, 5, self.seed)))
            server, found = self._timed(lambda name=name: ONLINE[name](online), self.repeats)  # type: ignore[misc]
            rate = n / (median(found) / 1000)
            cases.append(_case(name, instance, server, online.final, found, queries_per_second=round(rate)))
        return cases

    def partitioner(self, n: int, k: int, solver: str) -> dict[str, Any]:
        how = {"solver": solver}
        place(_instance(200, 5, self.seed), "partitioner", self._random(), how)
        instance = _instance(n, k, self.seed)
        placed, found = self._timed(lambda: place(instance, "partitioner", self._random(), how), 1)
        return _case("partitioner", instance, placed.server, placed.limits, found, solver=solver)

    def churn(self, steps: int, k: int, rule: str) -> dict[str, Any]:
        return _churn_case(steps, k, rule, self.seed, self.clock)

    def _random(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def _timed(self, call: Callable[[], Any], repeats: int) -> tuple[Any, list[float]]:
        """The last answer, and the milliseconds of every call; no call begins after ``seconds``."""
        found, begun = [], self.clock()
        for _ in range(repeats):
            started = self.clock()
            answer = call()
            found.append(1000 * (self.clock() - started))
            if self.clock() - begun >= self.seconds:
                break
        return answer, found


def _solvers() -> list[str]:
    from whimbrel.placement.hypergraph import is_installed

    return ["own", "mtkahypar"] if is_installed() else ["own"]


def _case(
    name: str, instance: PlacementInstance, server: Integers, limits: Integers, milliseconds: list[float], **more: Any
) -> dict[str, Any]:
    found = placement_of(name, instance, server, limits)
    return {
        "algorithm": name,
        "n": instance.queries,
        "k": instance.servers,
        "d": instance.degree_max,
        "ms": median(milliseconds),
        "certified": not faults_of(instance, found),
        "replication_factor": found.replication_factor,
        "lower_bound": found.lower_bound,
        "cost": found.cost,
        **more,
    }


def _churn_case(steps: int, k: int, rule: str, seed: int, clock: Clock) -> dict[str, Any]:
    """One arrival per step on average, lifetimes of a tenth of the steps; certified by recounting the traffic."""
    from whimbrel.placement.churn import draw_events
    from whimbrel.placement.result import traffic_of_live
    from whimbrel.placement.simulation import simulate

    rng = np.random.default_rng(seed)
    small = draw_events(100, rng, mean_lifetime=10)
    simulate(generate_instance(max(1, small.arrivals), BETA, 2, k, rng), small, rule, rng)
    events = draw_events(steps, rng, mean_lifetime=steps / 10)
    instance = generate_instance(events.arrivals, BETA, 2, k, rng)
    started = clock()
    course = simulate(instance, events, rule, rng)
    milliseconds = 1000 * (clock() - started)
    return {
        "algorithm": f"{rule}, arrivals and departures",
        "n": instance.queries,
        "k": k,
        "d": 2,
        "ms": milliseconds,
        "certified": traffic_of_live(instance, course.server) == float(course.column("traffic")[-1]),
        "steps": steps,
        "replication_factor": float(course.replication_factors()[-1]),
        "imbalance": float(course.imbalances()[-1]),
        "settled": course.settled,
    }
