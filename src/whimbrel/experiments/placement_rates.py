"""Figure 7 of Zong et al.: sources of unequal rates, independent of popularity, with it, and against it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whimbrel.experiments.placement_offline import replication
from whimbrel.experiments.placement_settings import SIZES, Row, Scale, Sizes, Verdict, answer, value

ID = "placement-rates"
CLAIM = "The more rates grow with popularity, the more is replicated; LeastCost is mostly best (Figure 7)"

ALGORITHMS = ("mms", "least-cost", "least-source", "least-qt", "on-rand")
EXPONENTS = (1.5, 2.0, 3.0)
BETAS = (1.5, 2.0, 2.5)
LAWS = ("random", "positive", "negative")


def run(data: Path | None, out: Path, sizes: Sizes = SIZES) -> dict[str, Any]:
    """A panel for each law over popularity, and one over the exponent of random rates."""
    scale = Scale.of(sizes)
    rows: list[Row] = []
    for law in LAWS:
        for beta in BETAS:
            rows += scale.measured(
                f"beta, {law} rates", beta, scale.setting(beta=beta, rates=law), ALGORITHMS, replication
            )
    for exponent in EXPONENTS:
        setting = scale.setting(rates="random", rate_exponent=exponent)
        rows += scale.measured("exponent of random rates", exponent, setting, ALGORITHMS, replication)
    return answer(ID, CLAIM, out, rows, _sentences(rows), scale)


def _sentences(rows: Sequence[Row]) -> dict[str, Verdict]:
    def factor(law: str, beta: float, name: str) -> float:
        return value(rows, f"beta, {law} rates", beta, name)

    best = [min(ALGORITHMS, key=lambda name: factor(law, beta, name)) for law in LAWS for beta in BETAS]
    return {
        "the more positive the correlation, the larger the factor": [
            f"beta {beta:g}, {name}"
            for beta in BETAS
            for name in ALGORITHMS
            if not factor("negative", beta, name) <= factor("random", beta, name) <= factor("positive", beta, name)
        ],
        f"in most cases LeastCost is the best (in {best.count('least-cost')} of {len(best)})": best.count("least-cost")
        > len(best) / 2,
        "against popularity LeastCost beats MMS by 10 % or more": [
            f"beta {beta:g}"
            for beta in BETAS
            if factor("negative", beta, "least-cost") >= 0.9 * factor("negative", beta, "mms")
        ],
    }
