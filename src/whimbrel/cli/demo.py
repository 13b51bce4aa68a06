"""``whimbrel demo``: a skewed stream of clicks, counted by a stateful query while you watch."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from whimbrel.cli.answers import print_json

if TYPE_CHECKING:
    from whimbrel.workloads.watching import EpochSeen

ROWS_PER_EPOCH = 50_000


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("demo")(demo)


def demo(
    seconds: int = typer.Option(25, min=5, max=600, help="How long to count."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Count a skewed stream of clicks, live, with visible progress."""
    from whimbrel.report.run import spread

    seen = _count(seconds)
    times = spread([epoch.duration_ms for epoch in seen])
    rows = sum(epoch.rows for epoch in seen)
    if json:
        print_json({"epochs": len(seen), "rows": rows, "epoch_ms": times})
    else:
        typer.echo(f"{len(seen)} epochs, {rows:,} clicks; p50 {times['p50']:.0f} ms, max {times['max']:.0f} ms")


def _count(seconds: int) -> list[EpochSeen]:
    from rich.console import Console
    from rich.progress import Progress

    from whimbrel.cli.spark_session import local_session
    from whimbrel.workloads.native_counts import start_native_counts
    from whimbrel.workloads.watching import follow

    seen: list[EpochSeen] = []
    with tempfile.TemporaryDirectory() as folder, Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("starting Spark", total=seconds)
        with local_session("whimbrel demo") as spark:
            query = start_native_counts(spark, Path(folder), ROWS_PER_EPOCH)
            began = time.monotonic()
            for epoch in follow(query):
                seen.append(epoch)
                elapsed_seconds = time.monotonic() - began
                progress.update(bar, completed=elapsed_seconds, description=f"epoch {epoch.number}")
                if elapsed_seconds > seconds:
                    break
    return seen
