"""Cost and balance of every planner against tau, on the real loads of the papers' two applications.

A hundred migrations among 8, 10, 12, 14 and 16 slots, the same for every planner, load and state fixed, 64 bins. Each
planner starts from its own assignment and goes on from where it was. A change that a planner cannot make under the limit
is left out and counted. Cost is the mean share of the state that moves; balance is the busiest slot over the mean.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.experiments.real_loads import frequent_pattern_load, word_count_load
from whimbrel.experiments.results import plotting, save_picture, save_rows
from whimbrel.model import Assignment, BadInput, Load
from whimbrel.planning import plan
from whimbrel.planning.consistent_hashing import average_over_rings

ID = "planner-tau"
CLAIM = "At every tau SSM moves less than consistent hashing and less than half of Storm's even split"

BINS = 64
SLOTS = (8, 10, 12, 14, 16)
TAUS = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2)
MIGRATIONS = 100
WITH_LIMIT = ("ssm", "any-map")
WITHOUT_LIMIT = ("even", "redist", "scan", "hash")


def run(data: Path | None, out: Path) -> dict[str, Any]:
    """Measures both applications; raises BadInput without ``data``."""
    if data is None:
        raise BadInput("this experiment needs the real loads: pass --data DIR")
    walk = _walk()
    rows, figures = [], []
    for application, load in (
        ("word-count", word_count_load(data, BINS)),
        ("frequent-patterns", frequent_pattern_load(data, BINS)),
    ):
        measured = [{"application": application, **row} for row in _measure(load, walk)]
        figures.append(save_picture(_picture(measured, application), out, f"{ID}-{application}"))
        rows += measured
    claims = _claims(rows)
    figures.append(save_rows(rows, out, ID))
    holds = all(claim["holds"] for claim in claims[:2])
    return {"id": ID, "claim": CLAIM, "holds": holds, "figures": figures, "claims": claims, "rows": rows}


def _walk() -> list[int]:
    """Slot counts of a chain that never stays, from 8."""
    random = np.random.default_rng(20)
    walk = [SLOTS[0]]
    while len(walk) <= MIGRATIONS:
        walk.append(int(random.choice([slots for slots in SLOTS if slots != walk[-1] and abs(slots - walk[-1]) <= 4])))
    return walk


def _measure(load: Load, walk: list[int]) -> list[dict[str, Any]]:
    rows = [_followed(planner, load, walk, tau) for planner in WITH_LIMIT for tau in TAUS]
    for planner in WITHOUT_LIMIT:
        row = _followed(planner, load, walk, 0.2)
        rows += [{**row, "tau": tau} for tau in TAUS]
    ring = _rings(load, walk)
    return [*rows, *({**ring, "tau": tau} for tau in TAUS)]


def _followed(planner: str, load: Load, walk: list[int], tau: float) -> dict[str, Any]:
    here = plan(planner, load, Assignment.even(load.bins, walk[0]), walk[0], tau).target
    here = here if here is not None else Assignment.even(load.bins, walk[0])
    costs, balances, skipped = [], [], 0
    total, mean = sum(load.state), sum(load.work)
    for slots in walk[1:]:
        answer = plan(planner, load, here, slots, tau)
        if answer.target is None:
            skipped += 1
            continue
        costs.append(answer.cost / total)
        balances.append(answer.max_load * slots / mean)
        here = answer.target
    return _row(planner, tau, costs, balances, skipped)


def _rings(load: Load, walk: list[int]) -> dict[str, Any]:
    known = {}
    costs, balances = [], []
    for old, new in pairwise(walk):
        if (old, new) not in known:
            known[old, new] = average_over_rings(load, old, new)
        costs.append(known[old, new].cost / sum(load.state))
        balances.append(known[old, new].max_over_mean)
    return _row("consistent-hashing", 0.2, costs, balances, 0)


def _row(planner: str, tau: float, costs: list[float], balances: list[float], skipped: int) -> dict[str, Any]:
    return {
        "planner": planner,
        "tau": tau,
        "moved_percent": 100 * float(np.mean(costs)) if costs else None,
        "max_over_mean": float(np.mean(balances)) if balances else None,
        "worst_max_over_mean": float(np.max(balances)) if balances else None,
        "infeasible": skipped,
    }


def _claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    costs = {(row["application"], row["planner"], row["tau"]): row["moved_percent"] for row in rows}
    apps = ("word-count", "frequent-patterns")
    pairs = [(app, tau) for app in apps for tau in TAUS if costs[app, "ssm", tau] is not None]
    series = {app: [costs[app, "ssm", tau] for tau in TAUS if costs[app, "ssm", tau] is not None] for app in apps}

    def claim(text: str, holds: bool) -> dict[str, Any]:
        return {"claim": text, "holds": bool(holds)}

    falls = {app: values[0] - values[-1] for app, values in series.items()}
    return [
        claim(
            "consistent hashing always moves more than SSM",
            all(costs[app, "consistent-hashing", tau] > costs[app, "ssm", tau] for app, tau in pairs),
        ),
        claim(
            "Storm's even split moves more than twice as much as SSM",
            all(costs[app, "even", tau] > 2 * costs[app, "ssm", tau] for app, tau in pairs),
        ),
        claim(
            "SSM's cost falls as tau grows",
            all(b <= a + 0.5 for values in series.values() for a, b in pairwise(values)),
        ),
        claim("SSM's cost falls faster for word count than for frequent patterns", falls[apps[0]] > falls[apps[1]]),
    ]


def _picture(rows: list[dict[str, Any]], application: str) -> Any:
    figure, (left, right) = plotting().subplots(1, 2, figsize=(11, 4), layout="constrained")
    for planner in (*WITH_LIMIT, "consistent-hashing", *WITHOUT_LIMIT):
        points = [row for row in rows if row["planner"] == planner and row["moved_percent"] is not None]
        taus = [row["tau"] for row in points]
        left.plot(taus, [row["moved_percent"] for row in points], marker=".", label=planner)
        right.plot(taus, [row["max_over_mean"] for row in points], marker=".", label=planner)
    left.set_ylabel("state moved per migration, %")
    right.set_ylabel("busiest slot over the mean")
    for axes in (left, right):
        axes.set_xlabel("tau")
    left.set_title(application)
    right.legend(fontsize=7)
    return figure
