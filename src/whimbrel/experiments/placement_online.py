"""Figure 4 of Zong et al.: the online algorithms without departures, beside MMS, which knows all queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whimbrel.experiments.placement_offline import replication
from whimbrel.experiments.placement_settings import (
    QUERIES,
    SERVER_COUNTS,
    Row,
    Scale,
    answer,
    points,
    value,
)

ID = "placement-online"
CLAIM = "LeastCost is the best online algorithm, up to 4 times better than OnRand; LeastQT equals OnRand (Figure 4)"

ALGORITHMS = ("least-cost", "least-source", "least-qt", "on-rand", "mms")
BETAS = (1.0, 1.5, 2.0, 2.5, 3.0)
DEGREES = (1, 2, 3, 5, 10)
PANELS = ("beta", "sources per query", "servers", "queries")


def run(data: Path | None, out: Path, scale: Scale | None = None) -> dict[str, Any]:
    """Four panels; ``sentences`` says which of the paper's sentences hold."""
    scale = scale or Scale()
    rows: list[Row] = []
    for beta in BETAS:
        rows += scale.measured("beta", beta, scale.setting(beta=beta), ALGORITHMS, replication)
    for degree in DEGREES:
        rows += scale.measured("sources per query", degree, scale.setting(degree=degree), ALGORITHMS, replication)
    for servers in SERVER_COUNTS:
        rows += scale.measured("servers", servers, scale.setting(servers=servers), ALGORITHMS, replication)
    for queries in (scale.sized(QUERIES // 10), scale.sized(QUERIES), scale.sized(3 * QUERIES)):
        rows += scale.measured("queries", queries, scale.setting(queries=queries), ALGORITHMS, replication)
    result = answer(ID, CLAIM, out, rows, _sentences(rows), scale)
    return {**result, "default_setting": {name: value(rows, "beta", 2.0, name) for name in ALGORITHMS}}


def _sentences(rows: Sequence[Row]) -> dict[str, bool]:
    everywhere = [(panel, x) for panel in PANELS for x in points(rows, panel)]
    online = ALGORITHMS[:4]
    gains = [value(rows, panel, x, "on-rand") / value(rows, panel, x, "least-cost") for panel, x in everywhere]
    types = [value(rows, panel, x, "on-rand") / value(rows, panel, x, "least-qt") for panel, x in everywhere]
    close = [value(rows, panel, x, "least-source") / value(rows, panel, x, "least-cost") for panel, x in everywhere]
    return {
        "LeastCost is the best online algorithm everywhere": all(
            min(online, key=lambda name: value(rows, panel, x, name)) == "least-cost" for panel, x in everywhere
        ),
        "LeastCost sometimes beats MMS": any(
            value(rows, panel, x, "least-cost") < value(rows, panel, x, "mms") for panel, x in everywhere
        ),
        "LeastSource is close to LeastCost (15 %)": all(abs(ratio - 1) <= 0.15 for ratio in close),
        "up to 4 times better than OnRand": max(gains) >= 3.9,
        "LeastQT equals OnRand (5 %)": all(abs(ratio - 1) <= 0.05 for ratio in types),
        "LeastQT equals OnRand (5 %) at beta >= 2.5 or degree >= 3": all(
            abs(ratio - 1) <= 0.05
            for (panel, x), ratio in zip(everywhere, types, strict=True)
            if (panel == "beta" and x >= 2.5) or (panel == "sources per query" and x >= 3)
        ),
    }
