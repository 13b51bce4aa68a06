"""Megaphone's Figure 20: the resident memory of all processes over time, while a migration goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whimbrel.bench.key_timelines import CountingSizes
from whimbrel.experiments import megaphone_counting as counting
from whimbrel.experiments.results import plotting

ID = "megaphone-memory"
CLAIM = "A migration all at once takes more memory on top of the steady state than one in batches"
SIZES: counting.Sizes = {
    "keys": (9_000_000,),
    "rate": (20_000,),
    "bins": (1024,),
    "seconds": (5,),
    "fluid_steps_max": (0,),
}


def run(data: Path | None, out: Path, sizes: counting.Sizes = SIZES) -> dict[str, Any]:
    """Measures one point; batches come first, because freed memory is not given back to the system at once."""
    keys, rate, bins, seconds = (counting.single(sizes, name) for name in ("keys", "rate", "bins", "seconds"))
    from whimbrel.bench.key_timelines import migrations
    from whimbrel.bench.session import bench_session

    point = CountingSizes(keys, rate, bins, seconds=seconds)
    pacings = counting.pacings_for(bins, counting.single(sizes, "fluid_steps_max"))
    with bench_session("6g") as spark:
        rows = [row for pacing in reversed(pacings) for row in migrations(spark, point, [pacing])]
    extra = {row["pacing"]: row["memory_most_bytes"] - row["memory_before_bytes"] for row in rows}
    holds = extra["all-at-once"] > extra["batched"]
    return counting.conclude(ID, CLAIM, holds, rows, draw(rows), out, extra_bytes=extra)


def draw(rows: list[dict[str, Any]]) -> Any:
    """One panel per pacing: the JVM and the Python processes, stacked."""
    figure, panels = plotting().subplots(1, len(rows), figsize=(5 * len(rows), 3.6), sharey=True, layout="constrained")
    for axes, row in zip(panels, rows, strict=True):
        seconds = [sample["at_ms"] / 1000 for sample in row["memory"]]
        parts = [[sample[name] / 2**20 for sample in row["memory"]] for name in ("jvm_bytes", "python_bytes")]
        axes.stackplot(seconds, *parts, labels=["JVM", "Python"], colors=["#7fa8bd", "#3d8f7a"])
        axes.axvspan(row["moved_at_ms"] / 1000, row["settled_at_ms"] / 1000, color="#e07b39", alpha=0.25)
        axes.set(title=row["pacing"], xlabel="s")
    panels[0].set_ylabel("resident memory, MiB")
    panels[0].legend(loc="lower left")
    return figure
