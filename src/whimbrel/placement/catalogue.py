"""The algorithms by name, and ``place``, which runs one of them on an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from whimbrel.model.errors import BadInput
from whimbrel.placement.arrivals import prepare_arrivals
from whimbrel.placement.capacity import offline_limits, online_limits
from whimbrel.placement.errors import NonePacked
from whimbrel.placement.first_fit import place_heaviest_first
from whimbrel.placement.greedy_arrivals import place_by_least_cost, place_by_least_source, place_by_least_types
from whimbrel.placement.incremental_cost import place_by_incremental_cost
from whimbrel.placement.instance import Integers, PlacementInstance
from whimbrel.placement.known_types import place_by_known_types, plan_for_types
from whimbrel.placement.min_max_server import place_by_server_traffic
from whimbrel.placement.minimum_packing import place_by_minimum_packing
from whimbrel.placement.partitioner import place_by_partitioner
from whimbrel.placement.random_arrivals import place_at_random_online
from whimbrel.placement.random_offline import place_at_random_offline
from whimbrel.placement.result import Placement, placement_of
from whimbrel.placement.rounds import prepare
from whimbrel.placement.single_source import place_single_source

_Found = tuple[Integers, dict[str, Any]]
_Run = Callable[[PlacementInstance, np.random.Generator, Mapping[str, Any]], _Found]

DEFAULT_ORDERS = {"mqp": "larger-first", "ic": "larger-first", "mms": "random"}
"""The tie rule of each algorithm on types, where the caller names none: MMS does best with no order, IC with one."""

ONLINE = ("least-cost", "least-source", "least-qt", "on-rand", "known-types")
OFFLINE = ("mqp", "ic", "mms", "single-source", "off-rand", "partitioner")
ALGORITHMS = OFFLINE + ONLINE


def place(
    instance: PlacementInstance, algorithm: str, rng: np.random.Generator, options: Mapping[str, Any] | None = None
) -> Placement:
    """The placement by the algorithm of that name.

    Options: ``order`` (type order of mqp, ic and mms), ``fill`` (mqp), ``solver`` and ``effort`` (partitioner and
    known-types). Where unequal work leaves the algorithm with queries over, the heaviest queries are packed first
    instead, and ``details`` says so (``packed``). Raises BadInput for unknown names, CannotPlace where the queries do
    not fit, and its NonePacked where that is not proved.
    """
    if algorithm not in ALGORITHMS:
        raise BadInput(f"there is no algorithm '{algorithm}': use one of {', '.join(ALGORITHMS)}")
    if instance.queries == 0:
        return placement_of(algorithm, instance, np.empty(0, dtype=np.int64), offline_limits(instance))
    limits = online_limits(instance) if algorithm in ONLINE else offline_limits(instance)
    try:
        server, details = _RUNS[algorithm](instance, rng, options or {})
    except NonePacked:
        server, details = place_heaviest_first(instance, limits), {"packed": "heaviest-first"}
    return placement_of(algorithm, instance, server, limits, **details)


def _by_types(name: str, run: Callable[..., Integers], *extra: str) -> _Run:
    """An offline algorithm on types; on queries of one source each the single-source algorithm takes over."""

    def placed(instance: PlacementInstance, rng: np.random.Generator, options: Mapping[str, Any]) -> _Found:
        order = options.get("order") or DEFAULT_ORDERS[name]
        offline = prepare(instance, order, rng)
        if instance.degree_max == 1:
            return place_single_source(offline), {"order": "fastest-source-first"}
        return run(offline, **{key: options[key] for key in extra if options.get(key)}), {"order": order}

    return placed


def _single_source(instance: PlacementInstance, rng: np.random.Generator, options: Mapping[str, Any]) -> _Found:
    return place_single_source(prepare(instance, "arrival", rng)), {}


def _off_rand(instance: PlacementInstance, rng: np.random.Generator, options: Mapping[str, Any]) -> _Found:
    return place_at_random_offline(prepare(instance, "arrival", rng), rng), {}


def _partitioner(instance: PlacementInstance, rng: np.random.Generator, options: Mapping[str, Any]) -> _Found:
    server, used = place_by_partitioner(instance, rng, options.get("solver") or "auto", options.get("effort"))
    return server, {"solver": used}


def _known_types(instance: PlacementInstance, rng: np.random.Generator, options: Mapping[str, Any]) -> _Found:
    online = prepare_arrivals(instance)
    plan, used = plan_for_types(instance, rng, options.get("solver") or "own", options.get("effort"))
    return place_by_known_types(online, instance, plan), {"solver": used}


def _online(run: Callable[..., Integers]) -> _Run:
    return lambda instance, rng, options: (run(prepare_arrivals(instance)), {})


_RUNS: dict[str, _Run] = {
    "mqp": _by_types("mqp", place_by_minimum_packing, "fill"),
    "ic": _by_types("ic", place_by_incremental_cost),
    "mms": _by_types("mms", place_by_server_traffic),
    "single-source": _single_source,
    "off-rand": _off_rand,
    "partitioner": _partitioner,
    "least-cost": _online(place_by_least_cost),
    "least-source": _online(place_by_least_source),
    "least-qt": _online(place_by_least_types),
    "on-rand": lambda instance, rng, options: (place_at_random_online(prepare_arrivals(instance), rng), {}),
    "known-types": _known_types,
}
