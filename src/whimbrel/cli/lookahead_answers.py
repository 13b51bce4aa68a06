"""How the lookahead group shows its answers: one JSON object, or tables for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from whimbrel.cli.answers import print_json
from whimbrel.planning.mtm_backtest import BackTest
from whimbrel.planning.mtm_matrix import TransitionMatrix
from whimbrel.planning.mtm_slots import SlotRule


def show_matrix(found: TransitionMatrix, rule: SlotRule | None, json_output: bool) -> None:
    """The estimated matrix, and the thresholds where counts of load were mapped to slots."""
    if json_output:
        answer: dict[str, Any] = asdict(found)
        if rule is not None:
            answer["thresholds"] = list(rule.thresholds)
        print_json(answer)
        return
    table = Table(title="Probability of the next slot count (moves seen)")
    table.add_column("from", justify="right")
    for slots in found.states:
        table.add_column(str(slots), justify="right")
    for slots, row, seen in zip(found.states, found.matrix, found.counts, strict=True):
        table.add_row(str(slots), *(f"{p:.3f} ({n})" for p, n in zip(row, seen, strict=True)))
    console = Console()
    console.print(table)
    for slots in found.empty_rows:
        console.print(f"{slots} slots were never left: their row is the moves that led to them, backwards")
    if rule is not None:
        console.print("thresholds: " + ", ".join(f"{value:g}" for value in rule.thresholds))


def show_projection(answer: dict[str, Any], json_output: bool) -> None:
    """What a projection amounts to."""
    if json_output:
        print_json(answer)
        return
    table = Table(title=f"Projected costs ({answer['method']})")
    table.add_column("slots", justify="right")
    table.add_column("partitions", justify="right")
    for slots, count in answer["partitions"].items():
        table.add_row(slots, f"{count:,}" if count else "none is feasible")
    console = Console()
    console.print(table)
    for name in ("iterations", "residual", "error_bound", "pairs_evaluated", "pairs_pruned", "seconds", "out"):
        if name in answer:
            value = answer[name]
            console.print(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")


def show_backtest(found: BackTest, json_output: bool) -> None:
    """What look-ahead would have saved."""
    answer = {**asdict(found), "saved": found.saved, "pays": found.pays}
    if json_output:
        print_json(answer)
        return
    console = Console()
    console.print(
        f"{found.migrations} migrations: {found.single:.4g} per step moved with ssm, {found.ahead:.4g} with mtm"
    )
    console.print(f"saved {found.saved:.2%} of the single step's cost, standard error {found.saved_error:.2%}")
    console.print("look-ahead pays" if found.pays else "look-ahead does not pay: the projection's planner uses ssm")
