"""``whimbrel bench placement``: how long placements take, warm, and how good they are.

One case per algorithm and size: ``n`` queries of ``d`` sources on ``k`` servers. ``ms`` is the median time of the
algorithm alone, on an instance in memory; ``certified`` says that the independent check found no fault: every query
placed, every limit kept, the cost right, the lower bound under it. All algorithms of a size get the same instance.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

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
QUERIES, SERVERS = 100_000, 100
LARGE_QUERIES, LARGE_SERVERS = 1_000_000, 1_000
CHURN_STEPS = 1_000_000


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures every case.

    Options: ``queries``, ``servers`` and ``steps`` are the sizes, and ``scale`` multiplies the first and the last of
    them (the servers stay, as long as each has ten queries); ``seed``, ``repeats``, ``large`` and ``churn`` (default
    true), ``clock``.
    """
    seed, repeats = int(options.get("seed") or 1), int(options.get("repeats") or 5)
    clock: Clock = options.get("clock") or time.perf_counter
    n, k = _sizes(options, QUERIES, SERVERS)
    cases = _offline_cases(n, k, seed, min(repeats, 3), clock) + _online_cases(n, k, seed, repeats, clock)
    cases += [_partitioner_case(n, k, solver, seed, clock) for solver in _solvers()]
    if options.get("large", True):
        large = _sizes({"scale": options.get("scale")}, LARGE_QUERIES, LARGE_SERVERS)
        cases += _online_cases(*large, seed, repeats, clock, ("least-cost",))
    if options.get("churn", True):
        steps = max(100, round(int(options.get("steps") or CHURN_STEPS) * float(options.get("scale") or 1)))
        cases += [_churn_case(steps, k, rule, seed, clock) for rule in ("least-cost", "settling")]
    return {"bench": "placement", "beta": BETA, "seed": seed, "cases": cases}


def _sizes(options: dict[str, Any], queries: int, servers: int) -> tuple[int, int]:
    n = max(100, round(int(options.get("queries") or queries) * float(options.get("scale") or 1)))
    return n, min(int(options.get("servers") or servers), n // 10)


def _instance(n: int, k: int, seed: int) -> PlacementInstance:
    return generate_instance(n, BETA, 2, k, np.random.default_rng(seed))


def _offline_cases(n: int, k: int, seed: int, repeats: int, clock: Clock) -> list[dict[str, Any]]:
    instance, cases = _instance(n, k, seed), []
    for name, algorithm in OFFLINE.items():
        algorithm(prepare(_instance(200, 5, seed), DEFAULT_ORDERS[name], np.random.default_rng(seed)))
        milliseconds = []
        for _ in range(repeats):
            started = clock()
            offline = prepare(instance, DEFAULT_ORDERS[name], np.random.default_rng(seed))
            server = algorithm(offline)
            milliseconds.append(1000 * (clock() - started))
        cases.append(_case(name, instance, server, offline.limits, milliseconds, order=DEFAULT_ORDERS[name]))
    return cases


def _online_cases(
    n: int, k: int, seed: int, repeats: int, clock: Clock, names: tuple[str, ...] = tuple(ONLINE)
) -> list[dict[str, Any]]:
    instance, cases = _instance(n, k, seed), []
    online = prepare_arrivals(instance)
    for name in names:
        ONLINE[name](prepare_arrivals(_instance(200, 5, seed)))
        milliseconds = []
        for _ in range(repeats):
            started = clock()
            server = ONLINE[name](online)
            milliseconds.append(1000 * (clock() - started))
        rate = n / (median(milliseconds) / 1000)
        cases.append(_case(name, instance, server, online.final, milliseconds, queries_per_second=round(rate)))
    return cases


def _solvers() -> list[str]:
    from whimbrel.placement.hypergraph import is_installed

    return ["own", "mtkahypar"] if is_installed() else ["own"]


def _partitioner_case(n: int, k: int, solver: str, seed: int, clock: Clock) -> dict[str, Any]:
    place(_instance(200, 5, seed), "partitioner", np.random.default_rng(seed), {"solver": solver})
    instance = _instance(n, k, seed)
    started = clock()
    found = place(instance, "partitioner", np.random.default_rng(seed), {"solver": solver})
    milliseconds = [1000 * (clock() - started)]
    return _case("partitioner", instance, found.server, found.limits, milliseconds, solver=solver)


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
    small = draw_events(1000, rng, mean_lifetime=100)
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
