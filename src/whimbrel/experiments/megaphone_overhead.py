"""Megaphone's Figures 13 to 15: what the number of bins costs while nothing migrates, beside Spark's own operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whimbrel.bench.key_timelines import CountingSizes, steady
from whimbrel.bench.session import bench_session
from whimbrel.experiments import megaphone_counting as counting
from whimbrel.experiments.results import plotting

ID = "megaphone-overhead"
CLAIM = "Up to 2^12 bins the 99th percentile of the steady latency stays within 1.5 times that with 2^4 bins"
SIZES: counting.Sizes = {
    "keys": (1_000_000,),
    "rate": (20_000,),
    "bins": (16, 256, 4096, 16384),
    "seconds": (8,),
}
QUANTILES = ("p50", "p90", "p99", "p99.99", "max")


def run(data: Path | None, out: Path, sizes: counting.Sizes = SIZES) -> dict[str, Any]:
    """Measures every number of bins, and the operator that cannot migrate, for every number of keys."""
    rate, seconds = counting.single(sizes, "rate"), counting.single(sizes, "seconds")
    rows = []
    with bench_session() as spark:
        steady(spark, CountingSizes(10_000, rate, 16, seconds=1))
        for keys in sizes["keys"]:
            points = [CountingSizes(int(keys), rate, int(bins), seconds=seconds) for bins in sizes["bins"]]
            rows += [steady(spark, points[0], "native-rocksdb")] + [steady(spark, point) for point in points]
    return counting.conclude(ID, CLAIM, holds(rows), rows, draw(rows), out)


def holds(rows: list[dict[str, Any]]) -> bool:
    """The verdict, for every number of keys."""
    for keys in {row["keys"] for row in rows}:
        ours = {row["bins"]: row["p99"] for row in rows if row["keys"] == keys and row["bins"]}
        if any(p99 > 1.5 * ours[min(ours)] for bins, p99 in ours.items() if bins <= 4096):
            return False
    return True


def draw(rows: list[dict[str, Any]]) -> Any:
    """A line per quantile over the bins, one panel per number of keys; Spark's own operator as short lines."""
    domains = sorted({row["keys"] for row in rows})
    figure, panels = plotting().subplots(
        1, len(domains), figsize=(6.5 * len(domains), 4.5), squeeze=False, sharey=True, layout="constrained"
    )
    for axes, keys in zip(panels[0], domains, strict=True):
        ours = [row for row in rows if row["keys"] == keys and row["bins"]]
        native = [row for row in rows if row["keys"] == keys and not row["bins"]]
        for quantile in QUANTILES:
            (line,) = axes.plot([r["bins"] for r in ours], [r[quantile] / 1000 for r in ours], "o-", label=quantile)
            for row in native:
                axes.axhline(row[quantile] / 1000, color=line.get_color(), linestyle=":", linewidth=1)
        axes.set(xlabel="bins (dotted: Spark's own operator)", title=f"{keys:,} keys, {rows[0]['rate']:,} rows/s")
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
    panels[0][0].set_ylabel("latency, s")
    panels[0][0].legend()
    return figure
