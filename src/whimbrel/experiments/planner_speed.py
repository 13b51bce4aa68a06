"""How the time of a single-step plan grows with the bins and with the slots, beside the repaired published program."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whimbrel.bench.planner import median_ms, uneven_question
from whimbrel.experiments.results import plotting, save_picture, save_rows
from whimbrel.planning import ssm

ID = "planner-speed"
CLAIM = "A plan takes at most 0.06 ms at 64 bins, 4 ms at 1,024 bins and 64 slots, 2 s at 2^20 bins and 1,000 slots"

BINS = tuple(1 << power for power in range(6, 21, 2))
SLOTS = (8, 16, 32, 64, 128, 256)
SLOTS_BINS = 1024
NAMES = {"layered": "layered, O((m + n) n')", "lagrangian": "priced, certified", "repaired": "repaired, O(m² n')"}
LAYERED_CELLS_MAX = 1 << 24
REPAIRED_STEPS_MAX = 1 << 27
PROMISES = {
    "m64": ([(64, 10, slots) for slots in range(8, 17)], 0.06),
    "m1024": ([(1024, 64, 56), (1024, 64, 72)], 4.0),
    "m1048576": ([(1 << 20, 1024, 1000)], 2000.0),
}
"""Sizes (bins, old slots, new slots) and the most milliseconds that the slowest of them may take."""


def run(data: Path | None, out: Path, clock: Callable[[], float] = time.perf_counter) -> dict[str, Any]:
    """Measures growth in bins at 16 bins a slot, and growth in slots at 1,024 bins."""
    ssm.warm()
    rows = [{"grows": "bins", **row} for m in BINS for row in _measure(m, max(m // 16, 4), clock)]
    rows += [{"grows": "slots", **row} for slots in SLOTS for row in _measure(SLOTS_BINS, slots, clock)]
    slowest_ms = {name: _slowest_ms(sizes, clock) for name, (sizes, _) in PROMISES.items()}
    holds = all(slowest_ms[name] <= most_ms for name, (_, most_ms) in PROMISES.items())
    figure, (left, right) = plotting().subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    _draw(left, rows, "bins", "m", "bins, 16 a slot")
    _draw(right, rows, "slots", "slots", f"slots, {SLOTS_BINS:,} bins")
    return {
        "id": ID,
        "claim": CLAIM,
        "holds": holds,
        "figures": [save_picture(figure, out, ID), save_rows(rows, out, ID)],
        "ms": slowest_ms,
    }


def _measure(m: int, slots: int, clock: Callable[[], float]) -> list[dict[str, Any]]:
    rows = []
    for engine, call in _calls(m, max(slots * 8 // 9, 2), slots).items():
        repeats = 15 if m <= 1 << 12 and engine != "repaired" else 3
        rows.append({"engine": engine, "m": m, "slots": slots, "ms": median_ms(call, repeats, clock)})
    return rows


def _calls(m: int, n: int, slots: int) -> dict[str, Callable[[], Any]]:
    """The programs that are affordable at this size, fastest first where a plan is wanted."""
    from whimbrel.planning.ssm_lagrangian import plan_lagrangian
    from whimbrel.planning.ssm_repaired import repaired_gain
    from whimbrel.planning.ssm_terrain import reach_of
    from whimbrel.planning.ssm_trace import ssm_boundaries

    work, state, boundaries, limit = uneven_question(m, n, slots, seed=1)
    calls: dict[str, Callable[[], Any]] = {}
    if m * slots <= LAYERED_CELLS_MAX:
        calls["layered"] = lambda: ssm_boundaries(work, state, boundaries, slots, limit)
    calls["lagrangian"] = lambda: plan_lagrangian(reach_of(work, limit), state, boundaries, slots)
    if m * m * slots <= REPAIRED_STEPS_MAX:
        calls["repaired"] = lambda: repaired_gain(work, state, boundaries, slots, limit)
    return calls


def _slowest_ms(sizes: list[tuple[int, int, int]], clock: Callable[[], float]) -> float:
    """The slowest of several sizes, each by its fastest program, in ms."""
    worst = 0.0
    for m, n, slots in sizes:
        calls = _calls(m, n, slots)
        calls.pop("repaired", None)
        worst = max(worst, min(median_ms(call, 5 if m > 1 << 14 else 25, clock) for call in calls.values()))
    return worst


def _draw(axes: Any, rows: list[dict[str, Any]], grows: str, key: str, label: str) -> None:
    for engine, name in NAMES.items():
        points = [row for row in rows if row["grows"] == grows and row["engine"] == engine]
        axes.loglog([row[key] for row in points], [row["ms"] for row in points], marker=".", label=name)
    axes.set_xlabel(label)
    axes.set_ylabel("ms, warm")
    axes.grid(which="major", linewidth=0.3)
    axes.legend()
