"""Pictures of plans: work per slot before and after with the limit as a line; cost against balance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whimbrel.cli.planning_tables import quantity
from whimbrel.model import BadInput, Load, Plan
from whimbrel.model.limit import exact
from whimbrel.planning.cost_and_balance import Balance


def save_plan_picture(plan: Plan, load: Load, path: Path) -> None:
    """Writes the picture; the suffix chooses the format (svg, png, pdf). BadInput where that is impossible."""
    if plan.target is None:
        raise BadInput("there is no plan to draw: it is infeasible")
    slots = max(plan.slots, max(plan.current.owner) + 1, max(plan.target.owner) + 1)
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for offset, label, owner in ((-0.2, "before", plan.current.owner), (0.2, "after", plan.target.owner)):
        heights = [0.0] * slots
        for b, slot in enumerate(owner):
            heights[slot] += load.work[b]
        axes.bar([slot + offset for slot in range(slots)], heights, width=0.4, label=label)
    limits = plan.limits or (plan.limit,) * slots
    edges = [(slot - 0.45, slot + 0.45) for slot in range(len(limits))]
    axes.hlines(limits, *zip(*edges, strict=True), color="black", linewidth=1, linestyle="--", label="limit")
    axes.set_xlabel("slot")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("work")
    axes.set_title(
        f"{plan.planner}: {quantity(plan.cost)} of {quantity(sum(map(exact, load.state)))} state moves, "
        f"hash % N would move {quantity(plan.hash_cost)}"
    )
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    _save(figure, path)


def save_balance_picture(points: Sequence[Balance], path: Path) -> None:
    """Draws cost against tau as the staircase that it is."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.step([point.tau for point in points], [point.cost for point in points], where="post", marker=".")
    axes.set_xlabel("tau: imbalance allowed")
    axes.set_ylabel("state that has to move")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(bottom=0)
    axes.grid(linewidth=0.3)
    _save(figure, path)


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise BadInput("--plot needs matplotlib: install whimbrel[viz]") from None
    return pyplot


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path)
    except ValueError as error:
        raise BadInput(f"{path}: {' '.join(str(error).split())}") from None
    finally:
        _pyplot().close(figure)
