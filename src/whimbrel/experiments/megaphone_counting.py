"""What the experiments on Megaphone's counting benchmark share: sizes, measuring point by point, drawing.

A point is one run of the counter under open-loop load with all pacings in turn. ``fluid`` needs an epoch per bin, and an
epoch of Spark takes the better part of a second: where that would be more than ``fluid_steps_max`` it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whimbrel.bench.key_timelines import CountingSizes, migrations
from whimbrel.bench.machine import machine
from whimbrel.bench.session import bench_session
from whimbrel.experiments.results import plotting, save_picture, save_rows
from whimbrel.model.errors import BadInput

Sizes = Mapping[str, tuple[float, ...]]
COLOURS = {"all-at-once": "#c0392b", "batched": "#3d8f7a", "optimized": "#3d7ea6", "fluid": "#c9a227"}
MARKERS = "osD^vP*X<>"


def single(sizes: Sizes, name: str) -> int:
    """The one value of a size; BadInput where several are given."""
    if len(sizes[name]) != 1:
        raise BadInput(f"{name} takes one value here, not {len(sizes[name])}")
    return int(sizes[name][0])


def pacings_for(bins: int, fluid_steps_max: int) -> list[str]:
    """All pacings whose steps are affordable: a quarter of the bins moves, one by one with fluid."""
    return ["all-at-once", "batched", *(["fluid"] if bins // 4 <= fluid_steps_max else [])]


def measure(points: Sequence[CountingSizes], fluid_steps_max: int) -> list[dict[str, Any]]:
    """The records of all points, in one session; a first small run, which is not kept, warms Spark up."""
    rows = []
    with bench_session("6g") as spark:
        migrations(spark, CountingSizes(keys=10_000, bins=16, seconds=1.0), ["all-at-once"])
        for point in points:
            rows += migrations(spark, point, pacings_for(point.bins, fluid_steps_max))
    return rows


def most_ms(row: Mapping[str, Any], phase: str = "during") -> float:
    """The highest latency of a phase."""
    return float(row["latency_ms"][phase]["max"])


def of_pacing(rows: Sequence[Mapping[str, Any]], pacing: str) -> list[Mapping[str, Any]]:
    """The rows of one pacing, in the order of measurement."""
    return [row for row in rows if row["pacing"] == pacing]


def flat(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows without nested parts, for a table."""
    found = []
    for row in rows:
        plain = {name: value for name, value in row.items() if not isinstance(value, (dict, list))}
        phases = {f"{p}_{q}_ms": v[q] for p, v in row.get("latency_ms", {}).items() for q in ("p50", "p99", "max")}
        found.append({**plain, **phases})
    return found


def conclude(
    identity: str, claim: str, holds: bool, rows: Sequence[Mapping[str, Any]], figure: Any, out: Path, **more: Any
) -> dict[str, Any]:
    """Saves picture and table and gives the experiment's answer. It holds only where every count was right."""
    table = flat(rows)
    figures = [save_picture(figure, out, identity), save_rows(table, out, identity)]
    correct = all(row["correct"] for row in rows)
    answer = {"id": identity, "claim": claim, "holds": bool(holds and correct), "figures": figures}
    return {**answer, "correct": correct, "machine": machine(), "rows": table, **more}


def draw_trade_off(rows: Sequence[Mapping[str, Any]], varied: str, title: str, name: str) -> Any:
    """Highest latency against duration: a line per pacing, a mark per value of ``varied``."""
    figure, axes = plotting().subplots(figsize=(7.5, 5), layout="constrained")
    values = sorted({row[varied] for row in rows})
    for pacing, colour in COLOURS.items():
        points = of_pacing(rows, pacing)
        if not points:
            continue
        seconds, latency = [row["migration_s"] for row in points], [most_ms(row) / 1000 for row in points]
        axes.plot(seconds, latency, color=colour, label=pacing, linewidth=1.2)
        for row, x, y in zip(points, seconds, latency, strict=True):
            axes.plot(x, y, MARKERS[values.index(row[varied]) % len(MARKERS)], color=colour, markersize=7)
    for index, value in enumerate(values):
        axes.plot([], [], MARKERS[index % len(MARKERS)], color="#555555", label=f"{value:,} {name}")
    steady = max(most_ms(row, "before") for row in rows) / 1000
    axes.axhline(steady, color="#999999", linestyle="--", linewidth=0.8, label="highest steady latency")
    axes.set(xscale="log", xlabel="duration of the migration, s", ylabel="highest latency, s", title=title)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    return figure
