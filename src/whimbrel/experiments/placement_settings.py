"""What the placement experiments have in common: sizes, seeds, means with intervals, and pictures of them.

Every algorithm runs on the same instances; a figure is a mean over seeds with a 95 % interval (Student's t).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from scipy.stats import t as student

from whimbrel.experiments.results import plotting, save_picture, save_rows
from whimbrel.model import BadInput
from whimbrel.placement import PlacementInstance, generate_instance

QUERIES, SERVERS, BETA, DEGREE, STEPS = 100_000, 100, 2.0, 2, 1_000_000
SERVER_COUNTS = (10, 50, 100, 200)

SIZES: dict[str, tuple[float, ...]] = {"share": (0.1,), "seeds": (10,)}
"""The share of the paper's queries and steps, and how many seeds: what ``--size`` can change."""

Row = dict[str, Any]
Sizes = Mapping[str, tuple[float, ...]]
Verdict = bool | Sequence[str]
"""Whether a sentence holds, or the points at which it does not."""

Measure = Callable[[PlacementInstance, str, np.random.Generator], float]


@dataclass(frozen=True, slots=True)
class Scale:
    """The share of the paper's queries and steps to run at, and the seeds to take means over.

    A tenth by default, on as many servers as in the paper: minutes instead of hours, and the factor hardly depends on
    the number of queries, as Figure 3(d) says and the experiment checks.
    """

    share: float = 0.1
    seeds: tuple[int, ...] = tuple(range(1, 11))

    @staticmethod
    def of(sizes: Sizes) -> Scale:
        """The scale of sizes as the command line gives them. Raises BadInput where a size is not one number in range."""
        share, seeds = (_single(sizes, name) for name in ("share", "seeds"))
        if not 0.01 <= share <= 1:
            raise BadInput(
                f"--size share={share:g}: it must lie from 0.01, under which servers outnumber queries, to 1"
            )
        if seeds < 1 or seeds != int(seeds):
            raise BadInput(f"--size seeds={seeds:g}: it must be a whole number of at least 1")
        return Scale(share, tuple(range(1, int(seeds) + 1)))

    def sized(self, size: int, least: int = 1) -> int:
        """A size of the paper at this scale."""
        return max(least, round(size * self.share))

    @property
    def server_counts(self) -> tuple[int, ...]:
        """Numbers of servers; the paper's thousand only where that leaves queries enough for each."""
        return (*SERVER_COUNTS, 1000) if self.share >= 1 else SERVER_COUNTS

    def setting(self, **changed: Any) -> dict[str, Any]:
        """The paper's default setting at this scale, with some parts changed; the absolute slack shrinks along."""
        default = {"queries": self.sized(QUERIES), "servers": SERVERS, "beta": BETA, "degree": DEGREE}
        return {**default, "alpha": 10 * self.share, **changed}

    def measured(
        self, panel: str, x: float, setting: Mapping[str, Any], algorithms: Iterable[str], measure: Measure
    ) -> list[Row]:
        """One row per algorithm: the mean over the seeds, every seed one instance for all algorithms."""
        values: dict[str, list[float]] = {name: [] for name in algorithms}
        for seed in self.seeds:
            instance = generate_instance(rng=np.random.default_rng(seed), **setting)
            for name, found in values.items():
                found.append(measure(instance, name, np.random.default_rng(1000 + seed)))
        rows = []
        for name, found in values.items():
            middle, half = interval(found)
            point = {"panel": panel, "x": float(x), "algorithm": name}
            rows.append({**point, "mean": middle, "half_width": half, "values": found})
        return rows


def _single(sizes: Sizes, name: str) -> float:
    values = sizes[name]
    if len(values) != 1:
        raise BadInput(f"--size {name} takes one number")
    return float(values[0])


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half width of the 95 % interval."""
    if len(values) < 2:
        return float(mean(values)), 0.0
    return float(mean(values)), float(student.ppf(0.975, len(values) - 1)) * stdev(values) / math.sqrt(len(values))


def value(rows: Sequence[Row], panel: str, x: float, algorithm: str) -> float:
    """The mean of one point."""
    return float(
        next(r["mean"] for r in rows if r["panel"] == panel and r["x"] == float(x) and r["algorithm"] == algorithm)
    )


def points(rows: Sequence[Row], panel: str) -> list[float]:
    """The x values of a panel, ascending."""
    return sorted({r["x"] for r in rows if r["panel"] == panel})


def answer(
    identity: str, claim: str, out: Path, rows: Sequence[Row], sentences: Mapping[str, Verdict], scale: Scale
) -> Row:
    """The experiment's result: each sentence of the paper with its verdict; ``holds`` says that all of them hold."""
    claims = [_judged(sentence, verdict) for sentence, verdict in sentences.items()]
    return {
        "id": identity,
        "claim": claim,
        "holds": all(found["holds"] for found in claims),
        "claims": claims,
        "figures": [_picture(identity, out, rows, scale), save_rows(rows, out, identity)],
        "scale": scale.share,
        "seeds": list(scale.seeds),
    }


def _judged(sentence: str, verdict: Verdict) -> Row:
    if isinstance(verdict, bool):
        return {"claim": sentence, "holds": verdict}
    return {"claim": sentence, "holds": not verdict, "fails_at": list(verdict)}


def failing(
    rows: Sequence[Row], panels: Iterable[str], holds: Callable[[Callable[[str], float]], bool], least: float = 0
) -> list[str]:
    """The points, as "panel x", at which ``holds`` is false; it is given the value of an algorithm there by name.

    Points under ``least`` are left out.
    """
    everywhere = [(panel, x) for panel in panels for x in points(rows, panel) if x >= least]
    return [f"{panel} {x:g}" for panel, x in everywhere if not holds(partial(value, rows, panel, x))]


def _picture(identity: str, out: Path, rows: Sequence[Row], scale: Scale) -> str:
    panels = list(dict.fromkeys(r["panel"] for r in rows))
    across = min(2, len(panels))
    down = -(-len(panels) // across)
    figure, grid = plotting().subplots(
        down, across, figsize=(5.5 * across, 4 * down), layout="constrained", squeeze=False
    )
    for axes, panel in zip(grid.flat, panels, strict=False):
        _panel(axes, panel, rows)
        axes.set_ylabel("fullest / mean load" if "fullest" in panel else "replication factor")
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    grid.flat[0].legend(fontsize="small")
    figure.suptitle(f"means over {len(scale.seeds)} seeds with 95 % intervals, {scale.share:g} of the paper's sizes")
    return save_picture(figure, out, identity)


def _panel(axes: Any, panel: str, rows: Sequence[Row]) -> None:
    here = [r for r in rows if r["panel"] == panel]
    for name in dict.fromkeys(r["algorithm"] for r in here):
        line = sorted((r["x"], r["mean"], r["half_width"]) for r in here if r["algorithm"] == name)
        x, middle, half = zip(*line, strict=True)
        axes.errorbar(x, middle, yerr=half, marker=".", capsize=2, label=name)
    xs = [r["x"] for r in here]
    if min(xs) > 0 and max(xs) / min(xs) >= 20:
        axes.set_xscale("log")
    means = [r["mean"] for r in here]
    if max(means) >= 20 * min(means) > 0:
        axes.set_yscale("log")
    axes.set_xlabel(panel)
