"""Megaphone's Figure 16: highest latency against duration of a migration, as the number of bins grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whimbrel.bench.key_timelines import CountingSizes
from whimbrel.experiments import megaphone_counting as counting

ID = "megaphone-bins"
CLAIM = (
    "With more bins the highest latency of batched migrations falls or stays at 1.5 times the steady one at most, "
    "and all-at-once is the highest at every number of bins"
)
SIZES: counting.Sizes = {
    "keys": (4_000_000,),
    "rate": (20_000,),
    "bins": (16, 256, 1024),
    "seconds": (4,),
    "fluid_steps_max": (16,),
}


def run(data: Path | None, out: Path, sizes: counting.Sizes = SIZES) -> dict[str, Any]:
    """Measures every number of bins with every affordable pacing."""
    keys, rate, seconds = (counting.single(sizes, name) for name in ("keys", "rate", "seconds"))
    points = [CountingSizes(keys, rate, int(bins), seconds=seconds) for bins in sizes["bins"]]
    rows = counting.measure(points, counting.single(sizes, "fluid_steps_max"))
    figure = counting.draw_trade_off(rows, "bins", f"{keys:,} counters, a quarter of the bins moves", "bins")
    return counting.conclude(ID, CLAIM, holds(rows), rows, figure, out)


def holds(rows: list[dict[str, Any]]) -> bool:
    """The verdict."""
    batched, at_once = counting.of_pacing(rows, "batched"), counting.of_pacing(rows, "all-at-once")
    finest, coarsest = batched[-1], batched[0]
    falls = counting.most_ms(finest) <= counting.most_ms(coarsest)
    level = finest["times_steady"] is not None and finest["times_steady"] <= 1.5
    stepwise = [pair for pair in zip(at_once, batched, strict=True) if pair[1]["steps"] > 1]
    highest = all(counting.most_ms(one) >= counting.most_ms(other) for one, other in stepwise)
    return (falls or level) and bool(stepwise) and highest
