"""A placement: where every query lives, what that costs, and how far from the best it can be.

``lower_bound <= cost`` always; ``lower_bound`` holds for every placement that keeps the same limits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whimbrel.placement.bounds import lower_bound
from whimbrel.placement.instance import Integers, PlacementInstance
from whimbrel.placement.random_benchmark import expected_random_traffic


@dataclass(frozen=True, eq=False)
class Placement:
    """``server[q]`` hosts query ``q``; ``cost`` is the traffic, ``replication_factor`` the traffic per used rate.

    ``random_cost`` is the traffic that random placement has on average.
    ``limit`` and ``max_load`` are in units of work; with unequal capacities they belong to the fullest server.
    """

    algorithm: str
    server: Integers
    cost: float
    replication_factor: float
    lower_bound: float
    random_cost: float
    max_load: int
    limit: int
    loads: Integers
    limits: Integers
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """By how much the cost may exceed the optimum at most, as a share of the bound; 0 is proved optimal."""
        return 0.0 if self.cost <= self.lower_bound else self.cost / self.lower_bound - 1


def traffic_of(instance: PlacementInstance, server: Integers) -> float:
    """The total rate that sources send to servers: each source once to every server that hosts a reader."""
    keys = instance.sources * instance.servers + np.repeat(server, instance.degrees)
    return float(instance.rates[np.unique(keys) // instance.servers].sum())


def traffic_of_live(instance: PlacementInstance, server: Integers) -> float:
    """The same for the live queries only: those whose server is not -1."""
    most = int(server.max(initial=0)) + 1
    live = np.repeat(server >= 0, instance.degrees)
    keys = (instance.sources * most + np.repeat(server, instance.degrees))[live]
    return float(instance.rates[np.unique(keys) // most].sum())


def loads_of(instance: PlacementInstance, server: Integers) -> Integers:
    """The work on each server."""
    loads = np.zeros(instance.servers, dtype=np.int64)
    np.add.at(loads, server, instance.work)
    return loads


def placement_of(
    algorithm: str, instance: PlacementInstance, server: Integers, limits: Integers, **details: Any
) -> Placement:
    """The placement with its figures. The assignment is trusted here; ``validate`` is the independent check."""
    cost, used, loads = traffic_of(instance, server), instance.used_rate(), loads_of(instance, server)
    fullest = int(np.argmax(loads * int(limits.max()) / np.maximum(limits, 1)))
    return Placement(
        algorithm=algorithm,
        server=server,
        cost=cost,
        replication_factor=cost / used if used else 1.0,
        lower_bound=_up_to_rounding(lower_bound(instance, limits), cost),
        random_cost=expected_random_traffic(instance),
        max_load=int(loads[fullest]),
        limit=int(limits[fullest]),
        loads=loads,
        limits=limits,
        details=details,
    )


def _up_to_rounding(bound: float, cost: float) -> float:
    """The bound, without the last digits that adding in another order may put over a cost that meets it exactly."""
    return cost if cost < bound <= cost * (1 + 1e-9) else bound
