"""Figure 6 of Zong et al.: the online rules while servers come and go too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whimbrel.experiments.placement_churn import (
    MEAN_LIFETIME,
    RULES,
    best_everywhere,
    churn_rows,
    churn_setting,
    course,
)
from whimbrel.experiments.placement_settings import SIZES, STEPS, Scale, Sizes, Verdict, answer, points, value

ID = "placement-server-churn"
CLAIM = "LeastCost stays the best rule while servers come and go (Figure 6)"

SERVER_PERIOD = 10_000


def run(data: Path | None, out: Path, sizes: Sizes = SIZES) -> dict[str, Any]:
    """Four panels; ``sentences`` says which of the paper's sentences hold."""
    scale = Scale.of(sizes)
    rows = churn_rows(scale, scale.sized(SERVER_PERIOD, 10))
    for period in (scale.sized(STEPS // 1000, 10), scale.sized(SERVER_PERIOD, 10), scale.sized(STEPS // 10, 10)):
        rows += scale.measured(
            "steps between servers",
            period,
            churn_setting(scale),
            RULES,
            course(scale, scale.sized(MEAN_LIFETIME), period),
        )
    panels = ("beta", "sources per query", "servers", "steps between servers")
    periods = points(rows, "steps between servers")
    often, seldom = (value(rows, "steps between servers", x, "least-cost") for x in (periods[0], periods[-1]))
    sentences: dict[str, Verdict] = {
        "LeastCost is the best of the paper's four everywhere": best_everywhere(rows, panels),
        "LeastCost is robust: servers a hundred times as restless cost it less than 25 %": often < 1.25 * seldom,
    }
    return answer(ID, CLAIM, out, rows, sentences, scale)
