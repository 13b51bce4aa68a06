"""Commands on a job directory, from any terminal: look at it, post to it, prove it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from whimbrel.cli.answers import INFEASIBLE, note, print_json

if TYPE_CHECKING:
    from whimbrel.control.board import Board, Status

DIRECTORY = typer.Argument(..., help="The job's directory.")
JSON = typer.Option(False, "--json", help="Print one JSON object.")
NOTE = typer.Option("", "--note", help="A remark for the history.")
WAIT = typer.Option(False, "--wait", help="Wait until the migration has ended, with progress.")
PACING = typer.Option("batched", "--pacing", help="all-at-once, fluid, batched, progressive, optimized or budget.")
SIZE = typer.Option(None, "--size", help="Bins per step (batched), arriving bins per slot and step (progressive).")
GAP = typer.Option(None, "--gap", help="Epochs without a move after each step.")
P99 = typer.Option(None, "--p99", help='The budget of an epoch, for example "2 seconds" (budget pacing).')
PLANNER = typer.Option("ssm", "--planner", help="The planner that chooses the target.")
TAU = typer.Option(0.2, "--tau", help="Allowed imbalance: 0.2 means 20 % over the mean.")


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
    for command in (status, rescale, rebalance, pause, resume, cancel, rollback, history, audit, watch):
        app.command()(command)


def status(directory: Path = DIRECTORY, json: bool = JSON) -> None:
    """Where a job stands: slots, epoch, the plan in progress."""
    found = _board(directory).status()
    if json:
        print_json(_status_json(found))
        return
    _print_status(found)


def rescale(
    directory: Path = DIRECTORY,
    slots: int = typer.Option(..., "--slots", help="How many slots to use."),
    planner: str = PLANNER,
    tau: float = TAU,
    pacing: str = PACING,
    size: int = SIZE,
    gap: int = GAP,
    p99: str = P99,
    wait: bool = WAIT,
    note: str = NOTE,
    json: bool = JSON,
) -> None:
    """Move a running job to another number of slots, live."""
    _plan_and_post(directory, slots, planner, tau, (pacing, size, gap, p99), wait, note, json)


def rebalance(
    directory: Path = DIRECTORY,
    planner: str = PLANNER,
    tau: float = TAU,
    pacing: str = PACING,
    size: int = SIZE,
    gap: int = GAP,
    p99: str = P99,
    wait: bool = WAIT,
    note: str = NOTE,
    json: bool = JSON,
) -> None:
    """Even out a skewed job over the slots that it has."""
    _plan_and_post(directory, None, planner, tau, (pacing, size, gap, p99), wait, note, json)


def pause(directory: Path = DIRECTORY, note: str = NOTE, json: bool = JSON) -> None:
    """Seal no new steps; the step in flight completes."""
    _posted(directory, _board(directory).pause(note), "paused", json)


def resume(directory: Path = DIRECTORY, note: str = NOTE, json: bool = JSON) -> None:
    """Go on after a pause."""
    _posted(directory, _board(directory).resume(note), "resumed", json)


def cancel(directory: Path = DIRECTORY, note: str = NOTE, json: bool = JSON) -> None:
    """End the plans in progress and waiting, where they stand."""
    _posted(directory, _board(directory).cancel(note), "cancelled", json)


def rollback(
    directory: Path = DIRECTORY,
    pacing: str = PACING,
    size: int = SIZE,
    gap: int = GAP,
    p99: str = P99,
    wait: bool = WAIT,
    json: bool = JSON,
) -> None:
    """Return to the assignment before the plan in progress, or else before the last one."""
    board = _board(directory)
    number = board.rollback(_pacing(pacing, size, gap, p99))
    _finish(board, number, {"planner": "rollback"}, wait, json)


def history(directory: Path = DIRECTORY, json: bool = JSON) -> None:
    """What was posted to a job, and how each plan ended."""
    stories = list(_board(directory).history())
    if json:
        print_json({"directory": str(directory), "history": stories})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("no", "when", "what", "planner", "pacing", "steps", "ended", "note")
    for story in stories:
        when = datetime.fromtimestamp(int(str(story["posted_at_ms"])) / 1000, timezone.utc).strftime(
            "%Y-%m-%d %H:%M:%S"
        )
        cells = [story.get(name, "") for name in ("planner", "pacing", "steps", "ended", "note")]
        table.add_row(str(story["number"]), when, str(story["what"]), *map(str, cells))
    Console().print(table)


def audit(directory: Path = DIRECTORY, json: bool = JSON) -> None:
    """Read the committed state with Spark and prove it: one owner per bin, digests right, rows accounted for."""
    board = _board(directory)
    from whimbrel.runtime.audit import audit as run_audit
    from whimbrel.runtime.batch_session import batch_session

    note("starting Spark to read the state …")
    with batch_session() as spark:
        report = run_audit(spark, board, f"{board.directory}/checkpoint")
    if json:
        print_json(report.as_dict())
    else:
        _print_pairs(f"audit of {directory}", report.as_dict())
    raise typer.Exit(0 if report.ok else 1)


def watch(
    directory: Path = DIRECTORY,
    seconds: float = typer.Option(0.0, "--seconds", help="Stop after this long (0: until interrupted)."),
    json: bool = JSON,
) -> None:
    """Follow a job: one line (or JSON object) for every change."""
    board = _board(directory)
    deadline = time.monotonic() + seconds if seconds else float("inf")
    last = None
    while time.monotonic() < deadline:
        found = board.status()
        if found != last:
            print_json(_status_json(found)) if json else typer.echo(_line(found))
            last = found
        time.sleep(0.25)


def plan_directory(directory: Path, slots: int | None, planner: str, tau: float | None, json: bool) -> None:
    """``whimbrel plan DIR``: a dry run on a job's own load."""
    from whimbrel.control.proposing import propose

    board = _board(directory)
    plan = propose(board, slots, planner, 0.2 if tau is None else tau, epochs=64)
    if json:
        print_json(_plan_json(plan))
    else:
        _print_pairs(f"plan for {directory}", _plan_json(plan, arrays=False))
    if not plan.feasible:
        raise typer.Exit(INFEASIBLE)


def _board(directory: Path) -> Board:
    from whimbrel.control.board import Board

    text = str(directory)
    # A shell path turns memory:// and hdfs:// into one slash; give the second one back.
    scheme, colon, rest = text.partition(":/")
    return Board(f"{scheme}://{rest.lstrip('/')}" if colon and scheme.isalpha() else str(directory.absolute()))


def _plan_and_post(
    directory: Path,
    slots: int | None,
    planner: str,
    tau: float,
    pacing: tuple[str, int | None, int | None, str | None],
    wait: bool,
    note: str,
    json: bool,
) -> None:
    from whimbrel.control.proposing import propose

    board = _board(directory)
    chosen = _pacing(*pacing)
    plan = propose(board, slots, planner, tau, epochs=64)
    if not plan.feasible:
        if json:
            print_json(_plan_json(plan) | {"posted": None})
        else:
            _print_pairs(f"no plan for {directory}", _plan_json(plan, arrays=False))
        raise typer.Exit(INFEASIBLE)
    number = board.post_plan(plan, chosen, note)
    _finish(board, number, _plan_json(plan, arrays=False), wait, json)


def _pacing(name: str, size: int | None, gap: int | None, p99: str | None) -> Any:
    from whimbrel.migration import Pacing
    from whimbrel.model.durations import milliseconds

    return Pacing.of(name, size, gap, None if p99 is None else milliseconds(p99))


def _finish(board: Board, number: int, facts: dict[str, Any], wait: bool, json: bool) -> None:
    if wait:
        from whimbrel.control.waiting import wait_until_settled

        wait_until_settled(board, 3600.0, _narrator())
    found = board.status()
    answer = facts | {"posted": number, "status": _status_json(found)}
    if json:
        print_json(answer)
        return
    if not found.running and not wait:
        note("no driver runs this job at the moment: the plan waits in the log until the query is started")
    _print_pairs(f"posted as record {number}", facts)


def _narrator() -> Callable[[Status], None]:
    return lambda found: note(_line(found))


def _posted(directory: Path, number: int, what: str, json: bool) -> None:
    if json:
        print_json({"directory": str(directory), "posted": number, "what": what})
    else:
        typer.echo(f"{what}: record {number} of {directory}; it takes effect at the next epoch")


def _line(found: Status) -> str:
    state = "paused" if found.paused else "settled" if found.settled else "moving"
    return (
        f"epoch {found.epoch}: {len(found.slots)} slots, {state}, plan {found.plan or '-'}, "
        f"{found.remaining} bins to go, {found.travelling} travelling"
    )


def _status_json(found: Status) -> dict[str, Any]:
    return asdict(found) | {"active_slots": len(found.slots)}


def _print_status(found: Status) -> None:
    _print_pairs(f"job {found.name}", _status_json(found))


def _print_pairs(title: str, facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), str(value))
    Console().print(table)


def _plan_json(plan: Any, arrays: bool = True) -> dict[str, Any]:
    facts: dict[str, Any] = {
        name: getattr(plan, name)
        for name in (
            "feasible",
            "planner",
            "slots",
            "cost",
            "gain",
            "lower_bound",
            "limit",
            "max_load",
            "moves",
            "hash_cost",
            "seconds",
        )
    }
    if plan.reason:
        facts["reason"] = plan.reason
    if plan.smallest_tau is not None:
        facts["smallest_tau"] = plan.smallest_tau
    if arrays and plan.target is not None:
        facts["assignment"] = list(plan.target.owner)
        if plan.intervals is not None:
            facts["intervals"] = [list(interval) for interval in plan.intervals]
    return facts
