"""``whimbrel bench NAME``: Whimbrel and its peers, in one run on this machine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer

from whimbrel.cli.answers import note, print_json
from whimbrel.model.errors import BadInput

BENCHES = {
    "keycount": "whimbrel.bench.keycount",
    "wordcount": "whimbrel.bench.wordcount",
    "rescale": "whimbrel.bench.rescale",
    "held": "whimbrel.bench.held",
    "bins": "whimbrel.bench.bins",
    "operators": "whimbrel.bench.operators",
    "planner": "whimbrel.bench.planner",
    "placement": "whimbrel.bench.placement",
}


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
    app.command("bench")(bench)


def bench(
    name: str = typer.Argument(..., help=f"{', '.join(BENCHES)} or nexmark-qN."),
    peers: list[str] | None = typer.Option(None, "--peers", help="Systems to measure; repeat or separate by commas."),
    seconds: float | None = typer.Option(None, "--seconds", help="How long each system runs, at least."),
    keys: int | None = typer.Option(None, "--keys", help="Distinct keys (keycount, rescale)."),
    skew: str | None = typer.Option(None, "--skew", help="uniform or zipf (keycount)."),
    kind: str | None = typer.Option(None, "--kind", help="long or string keys (keycount)."),
    scale: float | None = typer.Option(None, "--scale", help="Shrinks every batch: 0.01 for a quick look."),
    json_output: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Measure Whimbrel beside its peers and check the answers; a table, or the records as JSON."""
    given: dict[str, Any] = {"seconds": seconds, "keys": keys, "skew": skew, "kind": kind, "scale": scale}
    options = {option: value for option, value in given.items() if value is not None}
    if peers:
        options["peers"] = [system for group in peers for system in group.split(",")]
    if name.startswith("nexmark-"):
        options["query"] = name.removeprefix("nexmark-")
        name = "nexmark"
    module = {**BENCHES, "nexmark": "whimbrel.bench.nexmark"}.get(name)
    if module is None:
        raise BadInput(f"there is no bench {name!r}: choose one of {', '.join(BENCHES)} or nexmark-qN")
    note(f"measuring {name}: this takes minutes, and wants a quiet machine …")
    answer = import_module(module).run(options)
    if json_output:
        print_json(answer)
    else:
        _print_table(name, answer)


def _print_table(name: str, answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    records = answer.get("results") or answer.get("cases") or []
    table = Table(title=f"bench {name}", title_justify="left")
    columns = list(dict.fromkeys(column for record in records for column in record))
    for column in columns:
        table.add_column(column.replace("_", " "))
    for record in records:
        table.add_row(*(_cell(record.get(column)) for column in columns))
    Console(width=200).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict) and value and all(isinstance(v, dict) and "p50" in v for v in value.values()):
        return "\n".join(f"{k}: {v['p50']:.0f}/{v['p99']:.0f}/{v['max']:.0f}" for k, v in value.items())
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
