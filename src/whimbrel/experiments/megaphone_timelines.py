"""Megaphone's Figures 7 to 12: the latency of NEXMark queries over time, while a quarter of their state moves.

Every query runs once, with all pacings in turn on the same state; Spark's own way gets the same load, natively.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whimbrel.bench import nexmark_timelines as timelines
from whimbrel.bench.machine import machine
from whimbrel.bench.session import bench_session
from whimbrel.experiments import megaphone_counting as counting
from whimbrel.experiments.results import save_rows
from whimbrel.report import draw_latency, latency_rows

ID = "megaphone-timelines"
CLAIM = (
    "Batched migrations keep the highest latency of every NEXMark query within 1.5 times the steady one, all-at-once does "
    "not where it moves tens of megabytes, and Spark's own way is beyond 5 times"
)
SIZES: counting.Sizes = {
    "queries": (3, 4, 5, 6, 7, 8),
    "offline": (3, 5, 7, 8),
    "preload": (0,),
    "rate": (10_000,),
    "seconds": (6,),
}
LARGE_BYTES = 10_000_000
"""A migration of more bytes than this should show when it is done all at once."""


def run(data: Path | None, out: Path, sizes: counting.Sizes = SIZES) -> dict[str, Any]:
    """Measures every query of ``queries`` with every pacing, and those of ``offline`` with Spark's own way too."""
    rate, preload, seconds = (counting.single(sizes, name) for name in ("rate", "preload", "seconds"))
    settings = timelines.Settings(rate=rate, preload=preload, seconds=seconds)
    rows = []
    with bench_session("6g") as spark:
        for number in sizes["queries"]:
            offline = [timelines.OFFLINE] if number in sizes["offline"] else []
            rows += timelines.measure(spark, f"q{number:g}", settings, [*timelines.PACINGS, *offline])
    table = counting.flat(rows)
    picture = out / f"{ID}.svg"
    figures = [str(picture), save_rows(table, out, ID), save_rows(_points(rows), out, f"{ID}-points")]
    picture.write_text(draw_latency("Latency from due time to sink", latency_rows(rows)), encoding="utf-8")
    correct = all(row["correct"] for row in rows)
    answer = {"id": ID, "claim": CLAIM, "holds": correct and holds(rows), "figures": figures}
    moved = moved_mb(rows)
    finding = "moved all at once: " + ", ".join(f"{query} {size:g} MB" for query, size in moved.items())
    more = {"finding": finding, "moved_mb": moved}
    return {**answer, **more, "correct": correct, "machine": machine(), "rows": table}


def holds(rows: list[dict[str, Any]]) -> bool:
    """The verdict, over all queries; what was not measured, or moved too little to show anything, proves nothing."""
    batched, offline = counting.of_pacing(rows, "batched"), counting.of_pacing(rows, timelines.OFFLINE)
    large = [row for row in counting.of_pacing(rows, "all-at-once") if row["bytes"] > LARGE_BYTES]
    if not (batched and large and offline) or any(row["times_steady"] is None for row in rows):
        return False
    return (
        all(row["times_steady"] <= 1.5 for row in batched)
        and all(row["times_steady"] > 1.5 for row in large)
        and all(row["times_steady"] > 5 for row in offline)
    )


def moved_mb(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The megabytes that each query's migration all at once moved."""
    return {row["query"]: round(row["bytes"] / 1e6, 1) for row in counting.of_pacing(rows, "all-at-once")}


def _points(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"query": row["query"], "pacing": row["pacing"], **point} for row in rows for point in row["timeline"]]
