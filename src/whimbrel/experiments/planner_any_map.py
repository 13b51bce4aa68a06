"""How much less moves when bins need not stay contiguous, on skewed loads, beside the least that anything could move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.results import plotting, save_picture, save_rows
from whimbrel.model import Assignment, Load
from whimbrel.planning import plan

ID = "planner-any-map"
CLAIM = "On skewed loads, scaling out without contiguity moves less than SSM and within 2 points of the lower bound"

CHANGES = ((8, 10, 0.1), (8, 10, 0.2), (10, 8, 0.2), (10, 10, 0.1), (16, 12, 0.2))
BINS = (64, 256, 1024)
SEEDS = range(3)


def run(data: Path | None, out: Path) -> dict[str, Any]:
    """Plans every change at every size, contiguous and anywhere, from a balanced contiguous start."""
    rows = [row for bins in BINS for change in CHANGES if (row := _measure(bins, *change)) is not None]
    out_rows = [row for row in rows if row["to"] > row["from"]]
    holds = all(row["any_map_percent"] - row["bound_percent"] <= 2 for row in out_rows)
    holds = holds and all(row["any_map_percent"] <= row["ssm_percent"] for row in out_rows)
    figure, axes = plotting().subplots(figsize=(10, 4.5), layout="constrained")
    for offset, key in ((-0.27, "ssm_percent"), (0.0, "any_map_percent"), (0.27, "bound_percent")):
        label = key.replace("_percent", "").replace("_", "-")
        axes.bar([i + offset for i in range(len(rows))], [row[key] for row in rows], width=0.27, label=label)
    names = [f"{row['bins']}\n{row['from']}→{row['to']}\n{row['tau']}" for row in rows]
    axes.set_xticks(range(len(rows)), names, fontsize=8)
    axes.set_xlabel("bins, change of slots, tau")
    axes.set_ylabel("state moved, %")
    axes.legend()
    figures = [save_picture(figure, out, ID), save_rows(rows, out, ID)]
    return {"id": ID, "claim": CLAIM, "holds": holds, "figures": figures, "rows": rows}


def skewed_load(bins: int, seed: int, exponent: float = 0.8, keys: int = 100_000) -> Load:
    """Zipf keys hashed into bins: work is their frequency, state grows with its square root and a constant."""
    random = np.random.default_rng(seed)
    frequency = random.permutation(np.arange(1, keys + 1, dtype=float) ** -exponent)
    bin_of_key = random.integers(0, bins, keys)
    work = np.bincount(bin_of_key, frequency, bins)
    state = np.bincount(bin_of_key, np.sqrt(frequency) * 100 + 8, bins)
    return Load(tuple((work / work.sum() * 1e9).astype(int).tolist()), tuple(state.astype(int).tolist()))


def _measure(bins: int, old: int, new: int, tau: float) -> dict[str, Any] | None:
    """Mean shares over the seeds at which both planners find a plan; None where there is no such seed."""
    shares = []
    for seed in SEEDS:
        load = skewed_load(bins, seed)
        start = plan("ssm", load, Assignment.even(bins, old), old, 0.2).target
        if start is None:
            continue
        contiguous, anywhere = plan("ssm", load, start, new, tau), plan("any-map", load, start, new, tau)
        if contiguous.feasible and anywhere.feasible:
            total = sum(load.state) / 100
            shares.append((contiguous.cost / total, anywhere.cost / total, anywhere.lower_bound / total))
    if not shares:
        return None
    ssm_percent, any_map_percent, bound_percent = np.mean(shares, axis=0).tolist()
    return {
        "bins": bins,
        "from": old,
        "to": new,
        "tau": tau,
        "seeds": len(shares),
        "ssm_percent": ssm_percent,
        "any_map_percent": any_map_percent,
        "bound_percent": bound_percent,
    }
