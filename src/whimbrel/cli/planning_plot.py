"""A picture of a plan: work per slot before and after, the limit as a line."""

from __future__ import annotations

from pathlib import Path

from whimbrel.model import BadInput, Load, Plan


def save_plan_picture(plan: Plan, load: Load, path: Path) -> None:
    """Writes the picture; the suffix chooses the format (svg, png, pdf). BadInput where that is impossible."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise BadInput("--plot needs matplotlib: install whimbrel[viz]") from None
    if plan.target is None:
        raise BadInput("there is no plan to draw: it is infeasible")
    slots = max(plan.slots, max(plan.current.owner) + 1, max(plan.target.owner) + 1)
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for offset, label, owner in ((-0.2, "before", plan.current.owner), (0.2, "after", plan.target.owner)):
        heights = [0.0] * slots
        for b, slot in enumerate(owner):
            heights[slot] += load.work[b]
        axes.bar([slot + offset for slot in range(slots)], heights, width=0.4, label=label)
    axes.axhline(plan.limit, color="black", linewidth=1, linestyle="--", label="limit")
    axes.set_xlabel("slot")
    axes.set_ylabel("work")
    axes.set_title(f"{plan.planner}: {plan.cost:,} of state moves, hash % N would move {plan.hash_cost:,}")
    axes.legend()
    try:
        figure.savefig(path)
    except ValueError as error:
        raise BadInput(f"{path}: {' '.join(str(error).split())}") from None
    finally:
        pyplot.close(figure)
