"""An independent check of a placement: plain Python sets and fractions, nothing shared with the code that made it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from whimbrel.placement.instance import PlacementInstance
from whimbrel.placement.result import Placement

ONLINE = ("least-cost", "least-source", "least-qt", "on-rand", "known-types")
"""The algorithms that may use the absolute slack too."""


def faults_of(instance: PlacementInstance, placement: Placement) -> list[str]:
    """What is wrong with the placement, one sentence each; empty where every query is placed and all figures hold.

    The limits are worked out anew, those that the placement's algorithm must keep.
    """
    server = [int(value) for value in placement.server]
    faults = _misplaced(instance, server)
    if faults:
        return faults
    limits = _limits(instance, placement.algorithm in ONLINE)
    stated = [int(value) for value in placement.limits]
    if stated != limits:
        j = next((j for j, (a, b) in enumerate(zip(limits, stated, strict=False)) if a != b), 0)
        faults.append(f"server {j} may carry {limits[j]} and the placement says {stated[j : j + 1]}")
    loads = _loads(instance, server)
    faults += [
        f"server {where} carries {load} and may carry {limits[where]}"
        for where, load in enumerate(loads)
        if load > limits[where]
    ]
    return faults + _wrong_fullest(placement, loads, limits) + _wrong_traffic(instance, placement, server)


def _misplaced(instance: PlacementInstance, server: Sequence[int]) -> list[str]:
    if len(server) != instance.queries:
        return [f"{len(server)} of {instance.queries} queries have a server"]
    return [
        f"query {query} is on server {where}: servers run from 0 to {instance.servers - 1}"
        for query, where in enumerate(server)
        if not 0 <= where < instance.servers
    ]


def _limits(instance: PlacementInstance, online: bool) -> list[int]:
    total, whole = sum(instance.work.tolist()), sum(instance.capacities.tolist())
    limits = []
    for capacity in instance.capacities.tolist():
        share = Fraction(total * capacity, whole)
        most = (1 + instance.nu) * share
        limits.append(math.floor(max(most, share + instance.alpha) if online else most))
    return limits


def _loads(instance: PlacementInstance, server: Sequence[int]) -> list[int]:
    loads = [0] * instance.servers
    for work, where in zip(instance.work.tolist(), server, strict=True):
        loads[where] += work
    return loads


def _wrong_fullest(placement: Placement, loads: Sequence[int], limits: Sequence[int]) -> list[str]:
    faults = []
    if [int(value) for value in placement.loads] != list(loads):
        faults.append("the loads are not what the servers carry")
    stated = (placement.max_load, placement.limit)
    fuller = [j for j, load in enumerate(loads) if load * stated[1] > stated[0] * limits[j]]
    if stated not in set(zip(loads, limits, strict=True)) or fuller:
        faults.append(f"the placement says that the fullest server carries {stated[0]} of {stated[1]}: it does not")
    return faults


def _wrong_traffic(instance: PlacementInstance, placement: Placement, server: Sequence[int]) -> list[str]:
    faults = []
    received = {(where, source) for query, where in enumerate(server) for source in instance.row(query)}
    rates = instance.rates.tolist()
    cost = math.fsum(rates[source] for _, source in received)
    used = math.fsum(rates[source] for source in {source for _, source in received})
    factor = cost / used if used else 1.0
    for name, right, stated in (
        ("cost", cost, placement.cost),
        ("replication factor", factor, placement.replication_factor),
    ):
        if not math.isclose(right, stated, rel_tol=1e-9, abs_tol=1e-9):
            faults.append(f"the {name} is {right} and the placement says {stated}")
    if placement.lower_bound > cost * (1 + 1e-9):
        faults.append(f"the lower bound {placement.lower_bound} is over the cost {cost}")
    return faults
