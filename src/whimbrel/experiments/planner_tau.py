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

APPLICATIONS = ("word-count", "frequent-patterns")
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
    for application, load_of in zip(APPLICATIONS, (word_count_load, frequent_pattern_load), strict=True):
        load = load_of(data, BINS)
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
    """The papers' sentences, judged at every tau at which SSM can make all the migrations."""
    costs = {(row["application"], row["planner"], row["tau"]): row["moved_percent"] for row in rows}
    complete = [row for row in rows if row["planner"] == "ssm" and not row["infeasible"]]
    places = [(row["application"], row["tau"]) for row in complete]
    series = {app: [costs[app, "ssm", tau] for where, tau in places if where == app] for app in APPLICATIONS}
    word_count, patterns = series.values()
    dearer = [place for place in places if costs[place[0], "consistent-hashing", place[1]] <= costs[_ssm_at(place)]]
    close = [place for place in places if costs[place[0], "even", place[1]] <= 2 * costs[_ssm_at(place)]]
    rising = [app for app, values in series.items() if any(b > a for a, b in pairwise(values))]
    return [
        _claim("consistent hashing always moves more than SSM", dearer),
        _claim("Storm's even split always moves more than twice as much as SSM", close),
        _claim("SSM's cost falls as tau grows", rising),
        _claim(
            "SSM's cost falls faster for word count than for frequent patterns",
            [] if word_count[0] - word_count[-1] > patterns[0] - patterns[-1] else ["the whole range"],
        ),
    ]


def _ssm_at(place: tuple[str, float]) -> tuple[str, str, float]:
    return place[0], "ssm", place[1]


def _claim(text: str, against: list[Any]) -> dict[str, Any]:
    return {"claim": text, "holds": not against, "fails_at": [str(place) for place in against]}


def _picture(rows: list[dict[str, Any]], application: str) -> Any:
    """Cost and balance against tau; a point is left out where the planner could not make every change."""
    figure, (left, right) = plotting().subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    for number, planner in enumerate((*WITH_LIMIT, "consistent-hashing", *WITHOUT_LIMIT)):
        points = [row for row in rows if row["planner"] == planner and not row["infeasible"]]
        taus = [row["tau"] for row in points]
        style = "o-" if planner in WITH_LIMIT else "--"
        for axes, key in ((left, "moved_percent"), (right, "max_over_mean")):
            axes.plot(taus, [row[key] for row in points], style, color=f"C{number}", label=planner)
    right.plot(TAUS, [1 + tau for tau in TAUS], ":", color="grey", label="limit")
    right.set_ylim(1, 2.3)
    left.set_ylabel("state moved per migration, %")
    right.set_ylabel("busiest slot over the mean")
    for axes in (left, right):
        axes.set_xlabel("tau")
        axes.set_title(application)
    figure.legend(*right.get_legend_handles_labels(), loc="outside right upper")
    return figure
