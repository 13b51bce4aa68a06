"""Megaphone's Figure 18: the state grows and the bins with it, so that a step of a migration stays the same size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whimbrel.bench.key_timelines import CountingSizes
from whimbrel.experiments import megaphone_counting as counting

ID = "megaphone-keys-per-bin"
CLAIM = (
    "At a fixed number of keys per bin, the highest latency of batched migrations stays within 1.5 times its first value "
    "while the state grows, and that of all-at-once grows by more"
)
SIZES: counting.Sizes = {
    "keys_per_bin": (16_000,),
    "bins": (64, 512),
    "rate": (20_000,),
    "seconds": (4,),
    "fluid_steps_max": (0,),
}


def run(data: Path | None, out: Path, sizes: counting.Sizes = SIZES) -> dict[str, Any]:
    """Measures every number of bins with every affordable pacing."""
    per_bin, rate, seconds = (counting.single(sizes, name) for name in ("keys_per_bin", "rate", "seconds"))
    points = [CountingSizes(int(bins) * per_bin, rate, int(bins), seconds=seconds) for bins in sizes["bins"]]
    rows = counting.measure(points, counting.single(sizes, "fluid_steps_max"))
    figure = counting.draw_trade_off(rows, "keys", f"{per_bin:,} keys per bin, a quarter of the bins moves", "keys")
    return counting.conclude(ID, CLAIM, holds(rows), rows, figure, out)


def holds(rows: list[dict[str, Any]]) -> bool:
    """The verdict."""
    growth = {
        pacing: counting.most_ms(found[-1]) / counting.most_ms(found[0])
        for pacing in ("batched", "all-at-once")
        if (found := counting.of_pacing(rows, pacing))
    }
    return growth["batched"] <= 1.5 and growth["all-at-once"] > growth["batched"]
