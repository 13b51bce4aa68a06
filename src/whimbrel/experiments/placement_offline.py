"""Figure 3 of Zong et al.: the offline algorithms over popularity, degree, servers and queries, and ours beside them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.placement_settings import (
    QUERIES,
    SIZES,
    Row,
    Scale,
    Sizes,
    Verdict,
    answer,
    failing,
    points,
    value,
)
from whimbrel.placement import PlacementInstance, place
from whimbrel.placement.partitioner import Effort

ID = "placement-offline"
CLAIM = "MMS consistently outperforms the other offline algorithms, up to 4 times better than OffRand (Figure 3)"

ALGORITHMS = ("mms", "ic", "mqp", "off-rand", "partitioner")
BETAS = (1.0, 1.5, 2.0, 2.5, 3.0)
DEGREES = (1, 2, 3, 5)
OURS = {"solver": "own", "effort": Effort(per_piece=100)}


def run(data: Path | None, out: Path, sizes: Sizes = SIZES) -> dict[str, Any]:
    """Four panels; ``sentences`` says which of the paper's sentences hold."""
    scale = Scale.of(sizes)
    rows: list[Row] = []
    for beta in BETAS:
        rows += scale.measured("beta", beta, scale.setting(beta=beta), ALGORITHMS, replication)
    for degree in DEGREES:
        rows += scale.measured("sources per query", degree, scale.setting(degree=degree), ALGORITHMS, replication)
    for servers in scale.server_counts:
        rows += scale.measured("servers", servers, scale.setting(servers=servers), ALGORITHMS, replication)
    for queries in (scale.sized(QUERIES // 10), scale.sized(QUERIES), scale.sized(3 * QUERIES)):
        rows += scale.measured("queries", queries, scale.setting(queries=queries), ALGORITHMS, replication)
    result = answer(ID, CLAIM, out, rows, _sentences(rows), scale)
    default = {name: value(rows, "beta", 2.0, name) for name in ALGORITHMS}
    return {**result, "default_setting": default, "tie_rule": "mms: random type order, ic and mqp: larger types first"}


def replication(instance: PlacementInstance, algorithm: str, rng: np.random.Generator) -> float:
    """The replication factor of an algorithm on an instance."""
    return place(instance, algorithm, rng, OURS if algorithm == "partitioner" else None).replication_factor


def _sentences(rows: Sequence[Row]) -> dict[str, Verdict]:
    papers = ALGORITHMS[:4]
    panels = ("beta", "sources per query", "servers", "queries")
    everywhere = [(panel, x) for panel in panels for x in points(rows, panel)]
    gains = [value(rows, panel, x, "off-rand") / value(rows, panel, x, "mms") for panel, x in everywhere]
    servers, queries = points(rows, "servers"), points(rows, "queries")
    growth = value(rows, "servers", servers[-1], "mms") / value(rows, "servers", servers[0], "mms")
    change = value(rows, "queries", queries[-1], "mms") / value(rows, "queries", queries[0], "mms")
    return {
        "heavier tails replicate more": _falls(rows, "beta", BETAS[::-1]),
        "IC and MMS are the best of the paper's four": failing(
            rows, panels, lambda at: min(at("ic"), at("mms")) <= min(at(name) for name in papers)
        ),
        "MMS is the best of the paper's four everywhere": failing(
            rows, panels, lambda at: at("mms") <= min(at(name) for name in papers)
        ),
        f"up to 4 times better than OffRand (here at most {max(gains):.2f})": max(gains) >= 3.9,
        "for one source per query the factor is under 2": value(rows, "sources per query", 1, "mms") <= 2,
        "the factor grows with the sources per query": _falls(rows, "sources per query", DEGREES),
        "OffRand and MQP hardly change from three sources per query on (15 %)": [
            f"{name}, {low:g} to {high:g}"
            for name in ("off-rand", "mqp")
            for low, high in pairwise([x for x in points(rows, "sources per query") if x >= 3])
            if abs(value(rows, "sources per query", high, name) / value(rows, "sources per query", low, name) - 1)
            > 0.15
        ],
        "the factor grows less than the servers do": growth < servers[-1] / servers[0],
        "the factor does not depend on the number of queries (10 %)": abs(change - 1) < 0.1,
    }


def _falls(rows: Sequence[Row], panel: str, rising: Sequence[float]) -> list[str]:
    """Where the factor of MMS falls although ``rising`` values should raise it."""
    return [
        f"{panel} {low:g} to {high:g}"
        for low, high in pairwise(rising)
        if value(rows, panel, low, "mms") > value(rows, panel, high, "mms")
    ]
