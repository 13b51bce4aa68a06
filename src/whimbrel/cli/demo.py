"""``whimbrel demo``: a stateful stream is scaled out and in while you watch. Composition of a workload and a report."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from whimbrel.cli.answers import note, print_json, writable_folder

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from whimbrel.report.run import LiveRun
    from whimbrel.workloads.live_counts import Outcome, Schedule
    from whimbrel.workloads.watching import EpochSeen

MOVING_EPOCHS_GUESS = 8
"""How many epochs a rescale of the demonstration takes, for the progress bar only."""

BESIDE_EPOCHS = 6
"""Starting Spark and the final audit, in epochs, for the progress bar only."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("demo")(demo)


def demo(
    json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
    out: Path = typer.Option(Path("out/demo"), "--out", help="Folder for the report page."),
) -> None:
    """Scale a running, stateful stream out and in, live (2 to 4 to 3 slots), and audit it. Under two minutes."""
    from whimbrel.report.page import write_page

    writable_folder(out)
    run = _live_run(*_ride())
    page = write_page(run, out / "report.html").resolve()
    if json:
        print_json({**_answer(run), "report": str(page)})
    else:
        _print_tables(run, page)
    if not run.audit["ok"]:
        note("whimbrel: the audit found a fault")
        raise typer.Exit(1)


def _ride() -> tuple[Outcome, Schedule]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from whimbrel.cli.spark_session import quiet_session
    from whimbrel.workloads.live_counts import Schedule, run_live_counts

    schedule = Schedule()
    columns = (TextColumn("{task.description:<44}"), BarColumn(), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory(prefix="whimbrel-demo-") as folder,
        _terminal() as terminal,
        Progress(*columns, console=Console(file=terminal)) as progress,
    ):
        bar = progress.add_task("starting Spark", total=_expected_epochs(schedule))
        progress.advance(bar)
        with quiet_session() as spark:
            outcome = run_live_counts(spark, Path(folder), schedule, _show_on(progress, bar))
        progress.update(bar, completed=_expected_epochs(schedule), description="done")
    return outcome, schedule


def _terminal() -> TextIO:
    """Standard error by a second door: the first is closed while Spark greets."""
    return os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")


def _expected_epochs(schedule: Schedule) -> int:
    legs = len(schedule.slots) - 1
    still = schedule.warm_up_epochs + (legs + 1) * schedule.steady_epochs
    return still + legs * MOVING_EPOCHS_GUESS + BESIDE_EPOCHS


def _show_on(progress: Progress, bar: TaskID) -> Any:
    def show(doing: str, epoch: EpochSeen | None) -> None:
        if epoch is None:
            progress.update(bar, description=doing)
        else:
            progress.update(bar, description=f"epoch {epoch.number}: {doing}", advance=1)

    return show


def _live_run(outcome: Outcome, schedule: Schedule) -> LiveRun:
    from whimbrel.report.run import EpochTime, LiveRun, Ownership, Rescale

    began = outcome.epochs[0].began_seconds
    epochs = [EpochTime(e.number, e.began_seconds - began, e.duration_ms, e.rows) for e in outcome.epochs]
    rescales = [
        Rescale(
            from_slots=len(leg.plan.current.active_slots),
            to_slots=leg.plan.slots,
            first_epoch=leg.first_epoch,
            last_epoch=leg.last_epoch,
            bins_moved=leg.plan.moves,
            bytes_moved=int(leg.plan.cost),
            bytes_at_least=int(leg.plan.lower_bound),
            bytes_by_hash=int(leg.plan.hash_cost),
            bytes_carried=leg.bytes_moved,
        )
        for leg in outcome.legs
    ]
    owners = [Ownership(f"{schedule.slots[0]} slots", outcome.legs[0].plan.current.owner)]
    owners += [Ownership(f"{leg.plan.slots} slots", leg.after.owner) for leg in outcome.legs]
    title = f"Whimbrel: {' → '.join(map(str, schedule.slots))} slots while the stream runs"
    return LiveRun(title, tuple(epochs), tuple(rescales), tuple(owners), outcome.audit)


def _answer(run: LiveRun) -> dict[str, Any]:
    whole = run.to_dict()
    return {name: whole[name] for name in ("epoch_ms", "silence_ms", "rescales", "audit")} | {"epochs": len(run.epochs)}


def _print_tables(run: LiveRun, page: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from whimbrel.report.page import PHASE_COLUMNS, RESCALE_COLUMNS, phase_rows, rescale_rows

    console = Console()
    for head, rows in ((PHASE_COLUMNS, phase_rows(run)), (RESCALE_COLUMNS, rescale_rows(run))):
        table = Table(*head[:1])
        for name in head[1:]:
            table.add_column(name, justify="right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    audit = run.audit
    verdict = "ok" if audit["ok"] else "FAILED"
    console.print(
        f"audit {verdict}: {audit['rows']:,} clicks on {audit['pages']:,} pages, {audit['wrong_pages']} wrong"
    )
    console.print(f"report: {page}", soft_wrap=True)
