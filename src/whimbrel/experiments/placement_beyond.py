"""Beyond the paper: how far its best algorithms are from what a better search finds, offline and online.

Online, ``settling`` has LeastCost's limits, and ``settling, tight`` so little slack that its fullest server carries no
more than LeastCost's does (and looks at more queries per arrival, which little slack needs). Panels of their own show
the fullest server's load per mean load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.placement_settings import QUERIES, SIZES, Row, Scale, Sizes, Verdict, answer, value
from whimbrel.placement import PlacementInstance, place
from whimbrel.placement.churn import arrivals_only, draw_events
from whimbrel.placement.hypergraph import is_installed
from whimbrel.placement.simulation import Course, simulate

ID = "placement-beyond"
CLAIM = "Annealing undercuts the paper's best offline algorithm by 10 %, and settling undercuts LeastCost by 8 %"

OFFLINE = ("ic", "mms", "own")
TIGHT = "settling, tight"
ONLINE = ("least-cost", "settling", TIGHT)
BETAS = (1.5, 2.0, 2.5)
CASES = ("arrivals only", "arrivals and departures")
_TIGHT_NU, _TIGHT_ALPHA, _TIGHT_DRAWS = Fraction(1, 500), Fraction(1), 64


def run(data: Path | None, out: Path, sizes: Sizes = SIZES) -> dict[str, Any]:
    """Offline over popularity; online without departures and with them, factors and balance."""
    scale = Scale.of(sizes)
    solvers = (*OFFLINE, "mtkahypar") if is_installed() else OFFLINE
    rows: list[Row] = []
    for beta in BETAS:
        rows += scale.measured("beta, offline", beta, scale.setting(beta=beta), solvers, _offline)
    for case in CASES:
        more = {"queries": scale.sized(5 * QUERIES)} if case == CASES[1] else {}
        for beta in BETAS:
            setting = scale.setting(beta=beta, **more)
            rows += scale.measured(f"beta, {case}", beta, setting, ONLINE, _MEASURES[case])
        for beta in BETAS:
            setting = scale.setting(beta=beta, **more)
            rows += scale.measured(f"beta, fullest per mean, {case}", beta, setting, ONLINE, _BALANCES[case])
    return answer(ID, CLAIM, out, rows, _sentences(rows), scale)


def _sentences(rows: Sequence[Row]) -> dict[str, Verdict]:
    best = min(value(rows, "beta, offline", 2.0, name) for name in ("ic", "mms"))
    gain = 1 - value(rows, "beta, offline", 2.0, "own") / best
    sentences: dict[str, Verdict] = {
        f"own annealing is 10 % under the paper's best ({gain:.1%} at the default setting)": gain >= 0.1
    }
    for case in CASES:
        cost = value(rows, f"beta, {case}", 2.0, "least-cost")
        for rule in ONLINE[1:]:
            gain = 1 - value(rows, f"beta, {case}", 2.0, rule) / cost
            sentences[f"{rule} is 8 % under LeastCost, {case} ({gain:.1%})"] = gain >= 0.08
        fullest = {rule: value(rows, f"beta, fullest per mean, {case}", 2.0, rule) for rule in ONLINE}
        sentences[f"{TIGHT} is as even as LeastCost, {case} ({fullest[TIGHT]:.3f} and {fullest['least-cost']:.3f})"] = (
            fullest[TIGHT] <= fullest["least-cost"] + 0.001
        )
    return sentences


def _offline(instance: PlacementInstance, name: str, rng: np.random.Generator) -> float:
    if name in {"own", "mtkahypar"}:
        return place(instance, "partitioner", rng, {"solver": name}).replication_factor
    return place(instance, name, rng).replication_factor


def _arrived(instance: PlacementInstance, rule: str, rng: np.random.Generator) -> Course:
    return _course(instance, arrivals_only(instance.queries), rule, rng, 2)


def _churned(instance: PlacementInstance, rule: str, rng: np.random.Generator) -> Course:
    """Fewer steps than queries, so that the random number of arrivals never exceeds them."""
    steps = round(0.9 * instance.queries)
    return _course(instance, draw_events(steps, rng, mean_lifetime=steps / 5), rule, rng, 40)


def _course(instance: PlacementInstance, events: Any, rule: str, rng: np.random.Generator, samples: int) -> Course:
    if rule == TIGHT:
        tight = replace(instance, nu=_TIGHT_NU, alpha=_TIGHT_ALPHA)
        return simulate(tight, events, "settling", rng, samples, _TIGHT_DRAWS)
    return simulate(instance, events, rule, rng, samples)


def _late_mean(values: np.ndarray) -> float:
    return float(values[len(values) // 2 :].mean())


_MEASURES = {
    CASES[0]: lambda instance, rule, rng: float(_arrived(instance, rule, rng).replication_factors()[-1]),
    CASES[1]: lambda instance, rule, rng: _late_mean(_churned(instance, rule, rng).replication_factors()),
}
_BALANCES = {
    CASES[0]: lambda instance, rule, rng: float(_arrived(instance, rule, rng).imbalances()[-1]),
    CASES[1]: lambda instance, rule, rng: _late_mean(_churned(instance, rule, rng).imbalances()),
}
