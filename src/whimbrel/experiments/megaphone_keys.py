"""Megaphone's Figure 17: highest latency against duration of a migration, as the state grows and the bins do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whimbrel.bench.key_timelines import CountingSizes
from whimbrel.experiments import megaphone_counting as counting

ID = "megaphone-keys"
CLAIM = "All-at-once has the highest latency at the largest state, and it grows with the state; batched stays below it"
SIZES: counting.Sizes = {
    "keys": (1_000_000, 3_000_000, 9_000_000),
    "rate": (20_000,),
    "bins": (256,),
    "seconds": (4,),
    "fluid_steps_max": (0,),
}


def run(data: Path | None, out: Path, sizes: counting.Sizes = SIZES) -> dict[str, Any]:
    """Measures every number of keys with every affordable pacing."""
    bins, rate, seconds = (counting.single(sizes, name) for name in ("bins", "rate", "seconds"))
    points = [CountingSizes(int(keys), rate, bins, seconds=seconds) for keys in sizes["keys"]]
    rows = counting.measure(points, counting.single(sizes, "fluid_steps_max"))
    figure = counting.draw_trade_off(rows, "keys", f"{bins} bins, a quarter of them moves", "keys")
    return counting.conclude(ID, CLAIM, holds(rows), rows, figure, out)


def holds(rows: list[dict[str, Any]]) -> bool:
    """The verdict."""
    batched, at_once = counting.of_pacing(rows, "batched"), counting.of_pacing(rows, "all-at-once")
    grows = counting.most_ms(at_once[-1]) > counting.most_ms(at_once[0])
    return grows and counting.most_ms(batched[-1]) < counting.most_ms(at_once[-1])
