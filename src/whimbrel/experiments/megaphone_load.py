"""Megaphone's Figure 19: highest latency against offered load, steady and in a migration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whimbrel.bench.key_timelines import CountingSizes
from whimbrel.experiments import megaphone_counting as counting
from whimbrel.experiments.results import plotting

ID = "megaphone-load"
CLAIM = "At every load that the steady query bears (highest latency at most twice that at the lowest load), batched stays below all-at-once"
SIZES: counting.Sizes = {
    "keys": (4_000_000,),
    "rate": (5_000, 50_000, 400_000),
    "bins": (256,),
    "seconds": (4,),
    "fluid_steps_max": (0,),
}


def run(data: Path | None, out: Path, sizes: counting.Sizes = SIZES) -> dict[str, Any]:
    """Measures every load with every affordable pacing."""
    keys, bins, seconds = (counting.single(sizes, name) for name in ("keys", "bins", "seconds"))
    points = [CountingSizes(keys, int(rate), bins, seconds=seconds) for rate in sizes["rate"]]
    rows = counting.measure(points, counting.single(sizes, "fluid_steps_max"))
    return counting.conclude(ID, CLAIM, holds(rows), rows, draw(rows, keys), out)


def holds(rows: list[dict[str, Any]]) -> bool:
    """The verdict, over the loads that are borne."""
    batched, at_once = counting.of_pacing(rows, "batched"), counting.of_pacing(rows, "all-at-once")
    lowest = counting.most_ms(batched[0], "before")
    borne = [pair for pair in zip(batched, at_once, strict=True) if counting.most_ms(pair[0], "before") <= 2 * lowest]
    return all(counting.most_ms(one) <= counting.most_ms(other) for one, other in borne)


def draw(rows: list[dict[str, Any]], keys: int) -> Any:
    """One line per pacing, and one for the steady state."""
    figure, axes = plotting().subplots(figsize=(7.5, 5), layout="constrained")
    for pacing, colour in counting.COLOURS.items():
        points = counting.of_pacing(rows, pacing)
        if points:
            latency = [counting.most_ms(row) / 1000 for row in points]
            axes.plot([row["rate"] for row in points], latency, marker="o", color=colour, label=pacing)
    steady = counting.of_pacing(rows, "batched")
    latency = [counting.most_ms(row, "before") / 1000 for row in steady]
    axes.plot([row["rate"] for row in steady], latency, marker="o", color="#999999", label="no migration")
    axes.set(xscale="log", yscale="log", xlabel="offered load, rows per second", ylabel="highest latency, s")
    axes.set_title(f"{keys:,} counters under load")
    axes.legend()
    return figure
