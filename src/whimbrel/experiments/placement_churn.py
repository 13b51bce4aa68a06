"""Figures 5 and 6 of Zong et al.: the online rules while queries, and servers, come and go; and settling beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.placement_settings import (
    BETA,
    SIZES,
    STEPS,
    Row,
    Scale,
    Sizes,
    Verdict,
    answer,
    failing,
    points,
    value,
)
from whimbrel.placement import PlacementInstance
from whimbrel.placement.churn import draw_events
from whimbrel.placement.simulation import simulate

ID = "placement-query-churn"
CLAIM = "With arrivals and departures LeastCost is the best rule and its factor grows slowly with the load (Figure 5)"

RULES = ("least-cost", "least-source", "least-qt", "on-rand")
PARETO = "beta, Pareto lifetimes"
WITH_SETTLING = (*RULES, "settling")
BETAS = (1.5, 2.0, 2.5, 3.0)
DEGREES = (1, 2, 3, 5)
MEAN_LIFETIME = 100_000


def run(data: Path | None, out: Path, sizes: Sizes = SIZES) -> dict[str, Any]:
    """Four panels; ``sentences`` says which of the paper's sentences hold."""
    scale = Scale.of(sizes)
    rows = churn_rows(scale, None)
    for lifetime in (
        scale.sized(STEPS // 1000),
        scale.sized(STEPS // 100),
        scale.sized(MEAN_LIFETIME),
        scale.sized(STEPS),
    ):
        rows += scale.measured("mean lifetime", lifetime, churn_setting(scale), RULES, course(scale, lifetime, None))
    pareto = course(scale, scale.sized(MEAN_LIFETIME), None, "pareto")
    for beta in BETAS:
        rows += scale.measured(PARETO, beta, churn_setting(scale, beta=beta), RULES, pareto)
    result = answer(ID, CLAIM, out, rows, _sentences(rows), scale)
    return {
        **result,
        "settling_gain": 1 - value(rows, "beta", 2.0, "settling") / value(rows, "beta", 2.0, "least-cost"),
    }


def churn_setting(scale: Scale, **changed: Any) -> dict[str, Any]:
    """A setting with enough queries for all arrivals: a Poisson number, so with a margin of six deviations."""
    steps = scale.sized(STEPS)
    return {**scale.setting(), "queries": steps + 6 * round(steps**0.5), **changed}


def churn_rows(scale: Scale, server_change_steps: int | None) -> list[Row]:
    """The panels over popularity, degree and servers that Figures 5 and 6 share."""
    rows: list[Row] = []
    measure = course(scale, scale.sized(MEAN_LIFETIME), server_change_steps)
    for beta in BETAS:
        rows += scale.measured("beta", beta, churn_setting(scale, beta=beta), WITH_SETTLING, measure)
    for degree in DEGREES:
        rows += scale.measured("sources per query", degree, churn_setting(scale, degree=degree), RULES, measure)
    for servers in scale.server_counts:
        rows += scale.measured("servers", servers, churn_setting(scale, servers=servers), RULES, measure)
    return rows


def course(
    scale: Scale, lifetime: float, server_change_steps: int | None, law: str = "exponential"
) -> Callable[[PlacementInstance, str, np.random.Generator], float]:
    """Measures a rule: the mean replication factor over the second half of the time."""

    def measure(instance: PlacementInstance, rule: str, rng: np.random.Generator) -> float:
        events = draw_events(scale.sized(STEPS), rng, 1.0, lifetime, law, server_change_steps=server_change_steps)
        factors = simulate(instance, events, rule, rng, samples=40).replication_factors()
        return float(factors[len(factors) // 2 :].mean())

    return measure


def _sentences(rows: Sequence[Row]) -> dict[str, Verdict]:
    panels = ("beta", "sources per query", "servers", "mean lifetime")
    lives = points(rows, "mean lifetime")
    growth = value(rows, "mean lifetime", lives[-1], "least-cost") / value(
        rows, "mean lifetime", lives[0], "least-cost"
    )
    orders = {
        (panel, beta): sorted(RULES, key=lambda name: value(rows, panel, beta, name))
        for panel in ("beta", PARETO)
        for beta in BETAS
    }
    gain = 1 - value(rows, "beta", BETA, "settling") / value(rows, "beta", BETA, "least-cost")
    return {
        "LeastCost is the best of the paper's four everywhere": best_everywhere(rows, panels),
        "the factor grows with the load, but less than it": 1 < growth < lives[-1] / lives[0],
        "Pareto lifetimes order the rules in the same way": [
            f"beta {beta:g}" for beta in BETAS if orders["beta", beta] != orders[PARETO, beta]
        ],
        f"settling beats LeastCost by 8 % at the default setting ({gain:.1%})": gain >= 0.08,
    }


def best_everywhere(rows: Sequence[Row], panels: Sequence[str]) -> list[str]:
    """Where LeastCost is not the best of the paper's four rules, to within half a percent."""
    return failing(rows, panels, lambda at: at("least-cost") <= 1.005 * min(at(name) for name in RULES))
