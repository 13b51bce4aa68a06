"""``whimbrel bench NAME``: Whimbrel and its peers, in one run on this machine."""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from whimbrel.bench.catalogue import NAMES, bench_of, refuse_strangers
from whimbrel.cli.answers import note, print_json, writable_folder
from whimbrel.model.errors import BadInput


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
    app.command("bench")(bench)


def bench(
    name: str = typer.Argument(..., help=f"{NAMES}."),
    peers: list[str] | None = typer.Option(None, "--peers", help="Systems to measure; repeat or separate by commas."),
    operators: list[str] | None = typer.Option(
        None, "--operators", help="Operators to measure (operators); repeat or separate by commas."
    ),
    seconds: float | None = typer.Option(
        None,
        "--seconds",
        help="How long a system is measured, at least; the length of steady phases (rescale, timelines-qN); "
        "how long a case is repeated, at most (planner, placement).",
    ),
    keys: int | None = typer.Option(None, "--keys", help="Distinct keys (all that count)."),
    rows: int | None = typer.Option(None, "--rows", help="Rows of every epoch, for all systems (keycount, bins)."),
    skew: str | None = typer.Option(None, "--skew", help="uniform or zipf (keycount)."),
    kind: str | None = typer.Option(None, "--kind", help="long or string keys (keycount)."),
    scale: float | None = typer.Option(None, "--scale", help="Shrinks every batch: 0.01 for a quick look."),
    events: int | None = typer.Option(None, "--events", help="Events that are measured (nexmark-qN)."),
    rate: int | None = typer.Option(None, "--rate", help="Events due per second (timelines-qN)."),
    preload: int | None = typer.Option(None, "--preload", help="Events that fill the state first (timelines-qN)."),
    queries: int | None = typer.Option(None, "--queries", help="Queries to place (placement)."),
    servers: int | None = typer.Option(None, "--servers", help="Servers to place them on (placement)."),
    steps: int | None = typer.Option(None, "--steps", help="Steps of arrivals and departures (placement)."),
    bins: int | None = typer.Option(None, "--bins", help="Bins of each job."),
    out: Path = typer.Option(Path("out/bench"), "--out", help="Folder for the page, the pictures and Parquet files."),
    json_output: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Measure Whimbrel beside its peers and check the answers; a table, or the records as JSON, and a page."""
    sizes: dict[str, Any] = {"seconds": seconds, "keys": keys, "rows": rows, "skew": skew, "kind": kind, "scale": scale}
    sizes |= {"events": events, "rate": rate, "preload": preload, "bins": bins}
    sizes |= {"queries": queries, "servers": servers, "steps": steps}
    options = {option: value for option, value in sizes.items() if value is not None}
    for option, value in options.items():
        if not isinstance(value, str) and not 0 < value < math.inf:
            raise BadInput(f"--{option} {value:g}: it must be above zero and finite")
    for option, names in {"peers": peers, "operators": operators}.items():
        if names:
            options[option] = [each for group in names for each in group.split(",")]
    found, query = bench_of(name)
    refuse_strangers(name, options)
    options |= {"note": note} | ({"query": query} if query else {})
    writable_folder(out / name)
    if not (peers or operators or query):
        note(f"measuring {name}: this takes minutes, and wants a quiet machine …")
    answer = import_module(found.module).run(options)
    answer = {"bench": name, **answer, "machine": _machine()}
    note(f"page: {_save(answer, out / name)}")
    if json_output:
        print_json(answer)
    else:
        _print_table(name, answer)


def _machine() -> dict[str, Any]:
    from whimbrel.bench.machine import machine

    return machine()


def _save(answer: dict[str, Any], folder: Path) -> Path:
    """The page, the records as Parquet and JSON, and every picture as a file of its own."""
    from pyarrow import parquet

    from whimbrel.bench.machine import in_words
    from whimbrel.report import bench_page, flat_record, pictures, records_table

    records = answer.get("results") or answer.get("cases") or []
    parquet.write_table(records_table([flat_record(record) for record in records]), folder / "results.parquet")
    points = [
        {"query": record.get("query"), "pacing": record.get("pacing"), **point}
        for record in records
        for point in record.get("timeline", ())
    ]
    if points:
        parquet.write_table(records_table(points), folder / "timeline.parquet")
    (folder / "results.json").write_text(json.dumps(answer) + "\n", encoding="utf-8")
    for index, drawing in enumerate(pictures(answer), 1):
        (folder / f"picture-{index}.svg").write_text(drawing, encoding="utf-8")
    page = folder / "index.html"
    page.write_text(bench_page(answer, in_words(answer["machine"])), encoding="utf-8")
    return page


def _print_table(name: str, answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    records = answer.get("results") or answer.get("cases") or []
    table = Table(title=f"bench {name}", title_justify="left")
    columns = [c for c in dict.fromkeys(c for record in records for c in record) if c not in ("timeline", "moves")]
    for column in columns:
        table.add_column(column.replace("_", " "))
    for record in records:
        table.add_row(*(_cell(record.get(column)) for column in columns))
    Console(width=200).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict) and value and all(isinstance(v, dict) and "p50" in v for v in value.values()):
        return "\n".join(f"{k}: {v['p50']:.0f}/{v['p99']:.0f}/{v['max']:.0f}" for k, v in value.items())
    if isinstance(value, dict):
        return "\n".join(f"{k}: {_cell(v)}" for k, v in value.items())
    if isinstance(value, float):
        return f"{value:,.2f}"
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
