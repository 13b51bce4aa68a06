"""A plan for people: before and after per slot, and under it what moves, what it costs and what it is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from whimbrel.model import Assignment, Load, Plan
from whimbrel.model.limit import exact
from whimbrel.planning.cost_and_balance import Balance
from whimbrel.planning.sequence import PlannedSequence
from whimbrel.planning.transfers import Schedule

LINE_WIDTH_MAX = 160


def plan_fields(plan: Plan, current_slots: int = 0) -> dict[str, Any]:
    """The fields of the JSON answer; what an infeasible plan cannot say is null.

    ``current_slots`` counts the slots of now where trailing ones are empty: each gets an interval.
    """
    known = plan.target is not None
    slots = max(plan.slots, current_slots, max(plan.current.owner) + 1)
    intervals = plan.target.intervals(slots) if plan.target is not None else None
    fields: dict[str, Any] = {
        "feasible": plan.feasible,
        "planner": plan.planner,
        "slots": plan.slots,
        "tau": plan.tau,
        "cost": plan.cost if known else None,
        "gain": plan.gain if known else None,
        "lower_bound": plan.lower_bound if known else None,
        "limit": plan.limit,
        "max_load": plan.max_load if known else None,
        "assignment": list(plan.target.owner) if plan.target is not None else None,
        "intervals": [list(pair) for pair in intervals] if intervals is not None else None,
        "moves": plan.moves if known else None,
        "hash_cost": plan.hash_cost,
        "seconds": plan.seconds,
        "reason": plan.reason,
        "smallest_tau": plan.smallest_tau,
    }
    if plan.projected_cost is not None:
        fields["projected_cost"] = plan.projected_cost
    if plan.limits:
        fields["limits"] = list(plan.limits)
    return fields


def _console() -> Any:
    """Standard output; into a file or a pipe, where no edge of a window cuts them, lines are as long as they need."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=LINE_WIDTH_MAX)


def print_plan(plan: Plan, load: Load, current_slots: int) -> None:
    """The plan as a table on standard output."""
    console = _console()
    if plan.target is None:
        console.print(f"No plan: {plan.reason}.", markup=False, soft_wrap=True)
        return
    console.print(_slot_table(plan, plan.target, load, current_slots))
    for line in _summary(plan, load):
        console.print(line, markup=False, soft_wrap=True)


def _slot_table(plan: Plan, target: Assignment, load: Load, current_slots: int) -> Any:
    from rich.table import Table

    table = Table(title=f"{plan.planner}: to {plan.slots} slots at tau {plan.tau:g}", title_justify="left")
    table.add_column("slot", justify="right")
    for when in ("before", "after"):
        for name in ("bins", "work", "state"):
            table.add_column(f"{name}\n{when}", justify="right", overflow="fold")
    if plan.limits:
        table.add_column("limit", justify="right")
    slots = max(plan.slots, current_slots, max(plan.current.owner) + 1, max(target.owner) + 1)
    before, after = _sums(plan.current, load), _sums(target, load)
    for slot in range(slots):
        if slot in before or slot in after or slots <= 64:
            row = [*before.get(slot, (0, 0, 0)), *after.get(slot, (0, 0, 0))]
            row += plan.limits[slot : slot + 1]
            table.add_row(str(slot), *(quantity(value) for value in row))
    return table


def _sums(assignment: Assignment, load: Load) -> dict[int, tuple[int, Fraction, Fraction]]:
    sums: dict[int, tuple[int, Fraction, Fraction]] = {}
    for b, slot in enumerate(assignment.owner):
        bins, work, state = sums.get(slot, (0, Fraction(0), Fraction(0)))
        sums[slot] = (bins + 1, work + exact(load.work[b]), state + exact(load.state[b]))
    return sums


def _summary(plan: Plan, load: Load) -> list[str]:
    state = float(plan.cost) + float(plan.gain)
    share = f" ({100 * float(plan.cost) / state:.1f} % of the state)" if state else ""
    work = float(sum(map(exact, load.work)))
    over_mean = float(plan.max_load) * plan.slots / work if work else 0.0
    limit = "each slot with a limit of its own" if plan.limits else f"limit {plan.limit:,.6g}"
    lines = [
        f"moves      {plan.moves} of {plan.current.bins} bins",
        f"cost       {quantity(plan.cost)}{share}",
        f"bound      {quantity(plan.lower_bound)}: no plan of this kind, this balanced, moves less",
        f"hash % N   {quantity(plan.hash_cost)} would have moved",
        f"balance    busiest slot {quantity(plan.max_load)}, {limit}, {over_mean:.2f} times the mean",
    ]
    if plan.projected_cost is not None:
        lines.append(f"projected  {plan.projected_cost:,.6g} expected from the moves to come")
    if plan.reason:
        lines.append(f"note       {plan.reason}")
    return lines


def quantity(value: Any) -> str:
    """A number as people read it: thousands separated, digits after the point only where they can matter.

    >>> quantity(1881057.3333), quantity(213.3333333), quantity(7)
    ('1,881,057', '213.333', '7')
    """
    fraction = exact(value)
    if fraction.denominator == 1 or fraction >= 100_000:
        return f"{round(fraction):,}"
    return f"{float(fraction):,.6g}"


def sequence_fields(answer: PlannedSequence, current_slots: int) -> dict[str, Any]:
    """The fields of a sequence's JSON answer."""
    slots = current_slots
    steps = []
    for step in answer.steps:
        slots = max(slots, step.slots)
        intervals = step.target.intervals(slots) or ()
        steps.append(
            {
                "cost": step.cost,
                "intervals": [list(pair) for pair in intervals],
                "assignment": list(step.target.owner),
                "slots": step.slots,
                "tau": step.tau,
            }
        )
    return {
        "feasible": answer.feasible,
        "cost": answer.cost if answer.feasible else None,
        "steps": steps,
        "greedy_cost": answer.greedy_cost if answer.feasible else None,
        "lower_bound": answer.lower_bound if answer.feasible else None,
        "exact": answer.exact,
        "gap": answer.gap if answer.feasible and math.isfinite(answer.gap) else None,
        "reason": answer.reason,
    }


def print_sequence(answer: PlannedSequence) -> None:
    """The steps of a sequence as a table, and how good the total is."""
    from rich.table import Table

    console = _console()
    if not answer.feasible:
        console.print(f"No plan: {answer.reason}.", markup=False, soft_wrap=True)
        return
    table = Table("step", "slots", "tau", "cost", "intervals")
    for index, step in enumerate(answer.steps):
        shown = " ".join(f"{low}-{high}" for low, high in step.target.intervals(step.slots) or () if high > low)
        table.add_row(str(index), str(step.slots), f"{step.tau:g}", quantity(step.cost), shown)
    console.print(table)
    proof = "the least possible" if answer.exact else f"at most {100 * answer.gap:.3g} % above the least possible"
    if not answer.exact:
        console.print(f"bound      {quantity(answer.lower_bound)}: no sequence moves less", markup=False)
    console.print(f"total      {quantity(answer.cost)}: {proof}", markup=False)
    console.print(f"greedy     {quantity(answer.greedy_cost)}, planning step by step", markup=False)


def balance_fields(point: Balance) -> dict[str, Any]:
    """One point of the staircase as JSON."""
    return {
        "tau": point.tau,
        "max_load": point.max_load,
        "cost": point.cost,
        "assignment": list(point.target.owner),
    }


def print_balances(points: Sequence[Balance]) -> None:
    """The staircase as a table, or one line where nothing is within the budget."""
    from rich.table import Table

    console = _console()
    if not points:
        console.print("No plan moves so little: raise --within.", markup=False)
        return
    table = Table("tau", "busiest slot", "cost")
    for point in points:
        table.add_row(f"{point.tau:.6g}", quantity(point.max_load), quantity(point.cost))
    console.print(table)


def schedule_fields(schedule: Schedule) -> dict[str, Any]:
    """The phases as JSON."""
    return {
        "phases": [
            {
                "seconds": float(phase.seconds),
                "pairs": [list(pair) for pair in phase.pairs],
                "bytes": [float(amount) for amount in phase.bytes],
            }
            for phase in schedule.phases
        ],
        "seconds": float(schedule.seconds),
        "lower_bound": float(schedule.lower_bound),
    }


def print_schedule(schedule: Schedule) -> None:
    """The phases as a table."""
    from rich.table import Table

    console = _console()
    table = Table("phase", "seconds", "pairs")
    for index, phase in enumerate(schedule.phases):
        pairs = " ".join(f"{source}>{target}" for source, target in phase.pairs)
        table.add_row(str(index), f"{float(phase.seconds):,.6g}", pairs)
    console.print(table)
    total, bound = float(schedule.seconds), float(schedule.lower_bound)
    console.print(f"total      {total:,.6g} seconds; no order is faster than {bound:,.6g}", markup=False)
