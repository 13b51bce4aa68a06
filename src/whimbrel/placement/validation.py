"""An independent check of a placement: plain Python sets, nothing shared with the code that made it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whimbrel.placement.instance import PlacementInstance
from whimbrel.placement.result import Placement


def faults_of(instance: PlacementInstance, placement: Placement) -> list[str]:
    """What is wrong with the placement, one sentence each; empty where every query is placed and all figures hold."""
    server = [int(value) for value in placement.server]
    faults = _misplaced(instance, server)
    if faults:
        return faults
    faults += _overloads(instance, server, [int(value) for value in placement.limits])
    cost = _traffic(instance, server)
    if not math.isclose(cost, placement.cost, rel_tol=1e-9, abs_tol=1e-9):
        faults.append(f"the cost is {cost} and the placement says {placement.cost}")
    if placement.lower_bound > cost * (1 + 1e-9):
        faults.append(f"the lower bound {placement.lower_bound} is over the cost {cost}")
    return faults


def _misplaced(instance: PlacementInstance, server: Sequence[int]) -> list[str]:
    if len(server) != instance.queries:
        return [f"{len(server)} of {instance.queries} queries have a server"]
    return [
        f"query {query} is on server {where}: servers run from 0 to {instance.servers - 1}"
        for query, where in enumerate(server)
        if not 0 <= where < instance.servers
    ]


def _overloads(instance: PlacementInstance, server: Sequence[int], limits: Sequence[int]) -> list[str]:
    loads = dict.fromkeys(range(instance.servers), 0)
    for query, where in enumerate(server):
        loads[where] += int(instance.work[query])
    return [
        f"server {where} carries {load} and may carry {limits[where]}"
        for where, load in loads.items()
        if load > limits[where]
    ]


def _traffic(instance: PlacementInstance, server: Sequence[int]) -> float:
    received: set[tuple[int, int]] = set()
    for query, where in enumerate(server):
        received.update((where, source) for source in instance.row(query))
    return math.fsum(float(instance.rates[source]) for _, source in sorted(received))
