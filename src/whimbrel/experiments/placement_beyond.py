"""Beyond the paper: how far its best algorithms are from what a better search finds, offline and online."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.placement_settings import QUERIES, Row, Scale, answer, value
from whimbrel.placement import PlacementInstance, place
from whimbrel.placement.churn import arrivals_only, draw_events
from whimbrel.placement.hypergraph import is_installed
from whimbrel.placement.simulation import simulate

ID = "placement-beyond"
CLAIM = "Annealing undercuts the paper's best offline algorithm by 10 %, and settling undercuts LeastCost by 8 %"

OFFLINE = ("ic", "mms", "own")
ONLINE = ("least-cost", "settling")
BETAS = (1.5, 2.0, 2.5)


def run(data: Path | None, out: Path, scale: Scale | None = None) -> dict[str, Any]:
    """Offline over popularity; online without departures and with them, at the same limits."""
    scale = scale or Scale()
    solvers = (*OFFLINE, "mtkahypar") if is_installed() else OFFLINE
    rows: list[Row] = []
    for beta in BETAS:
        rows += scale.measured("beta, offline", beta, scale.setting(beta=beta), solvers, _offline)
    for beta in BETAS:
        rows += scale.measured("beta, arrivals only", beta, scale.setting(beta=beta), ONLINE, _online)
    for beta in BETAS:
        setting = scale.setting(beta=beta, queries=scale.sized(5 * QUERIES))
        rows += scale.measured("beta, arrivals and departures", beta, setting, ONLINE, _churned)
    best = min(value(rows, "beta, offline", 2.0, name) for name in ("ic", "mms"))
    sentences = {
        "own annealing is 10 % under the paper's best": value(rows, "beta, offline", 2.0, "own") <= 0.9 * best,
        **{
            f"settling is 8 % under LeastCost, {case}": value(rows, f"beta, {case}", 2.0, "settling")
            <= 0.92 * value(rows, f"beta, {case}", 2.0, "least-cost")
            for case in ("arrivals only", "arrivals and departures")
        },
    }
    return answer(ID, CLAIM, out, rows, sentences, scale)


def _offline(instance: PlacementInstance, name: str, rng: np.random.Generator) -> float:
    if name in {"own", "mtkahypar"}:
        return place(instance, "partitioner", rng, {"solver": name}).replication_factor
    return place(instance, name, rng).replication_factor


def _online(instance: PlacementInstance, rule: str, rng: np.random.Generator) -> float:
    course = simulate(instance, arrivals_only(instance.queries), rule, rng, samples=2)
    return float(course.replication_factors()[-1])


def _churned(instance: PlacementInstance, rule: str, rng: np.random.Generator) -> float:
    """Fewer steps than queries, so that the random number of arrivals never exceeds them."""
    steps = round(0.9 * instance.queries)
    events = draw_events(steps, rng, mean_lifetime=steps / 5)
    factors = simulate(instance, events, rule, rng, samples=40).replication_factors()
    return float(factors[len(factors) // 2 :].mean())
