"""Commands on a job directory, from any terminal: look at it, post to it, prove it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from whimbrel.cli.answers import INFEASIBLE, note, print_json
from whimbrel.cli.job_answers import print_audit, print_history, print_pairs, print_status, status_fields, status_line
from whimbrel.model.errors import BadInput

if TYPE_CHECKING:
    from whimbrel.control.board import Board
    from whimbrel.model import Plan

LOAD_EPOCHS = 64
"""How far back a plan looks for the load of a job."""

POSTED = ("planner", "slots", "moves", "cost", "lower_bound", "hash_cost")
"""What is said of a plan once it is posted."""

DIRECTORY = typer.Argument(..., help="The job's directory.")
JSON = typer.Option(False, "--json", help="Print one JSON object.")
NOTE = typer.Option("", "--note", help="A remark for the history.")
WAIT = typer.Option(False, "--wait", help="Wait until the migration has ended, with progress.")
TIMEOUT = typer.Option("1 hour", "--timeout", help="How long --wait waits at most.")
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
    board = _board(directory)
    if json:
        print_json(status_fields(board.status()))
    else:
        print_status(board.status(), board.settings.max_slots)


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
    timeout: str = TIMEOUT,
    note: str = NOTE,
    json: bool = JSON,
) -> None:
    """Move a running job to another number of slots, live."""
    waiting = _wait_seconds(wait, timeout)
    _plan_and_post(directory, slots, planner, tau, (pacing, size, gap, p99), waiting, note, json)


def rebalance(
    directory: Path = DIRECTORY,
    planner: str = PLANNER,
    tau: float = TAU,
    pacing: str = PACING,
    size: int = SIZE,
    gap: int = GAP,
    p99: str = P99,
    wait: bool = WAIT,
    timeout: str = TIMEOUT,
    note: str = NOTE,
    json: bool = JSON,
) -> None:
    """Even out a skewed job over the slots that it has."""
    waiting = _wait_seconds(wait, timeout)
    _plan_and_post(directory, None, planner, tau, (pacing, size, gap, p99), waiting, note, json)


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
    timeout: str = TIMEOUT,
    note: str = NOTE,
    json: bool = JSON,
) -> None:
    """End every plan and return to where the plan in progress, or else the last one, began."""
    board = _board(directory)
    number = board.rollback(_pacing(pacing, size, gap, p99), note)
    _finish(board, number, {"planner": "rollback"}, _wait_seconds(wait, timeout), json)


def history(directory: Path = DIRECTORY, json: bool = JSON) -> None:
    """What was posted to a job, and how each plan ended."""
    stories = list(_board(directory).history())
    if json:
        print_json({"directory": str(directory), "history": stories})
    else:
        print_history(stories)


def audit(directory: Path = DIRECTORY, json: bool = JSON) -> None:
    """Read the committed state with Spark and prove it: one owner per bin, digests right, rows accounted for."""
    board = _board(directory)
    if board.newest() is None:
        raise BadInput(f"{board.directory} has no sealed epoch yet: start its query first")
    from whimbrel.cli.spark_session import quiet_session

    note("starting Spark to read the state …")
    with quiet_session() as spark:
        from whimbrel.runtime.audit import audit as run_audit
        from whimbrel.runtime.session import SETTINGS

        # Spark's reader takes the format of the files' names from the session, not from the checkpoint.
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        report = run_audit(spark, board, f"{board.directory}/checkpoint")
    if json:
        print_json(report.as_dict())
    else:
        print_audit(report)
    raise typer.Exit(0 if report.ok else 1)


def watch(
    directory: Path = DIRECTORY,
    seconds: float = typer.Option(0.0, "--seconds", min=0.0, help="Stop after this long (0: until interrupted)."),
    json: bool = JSON,
) -> None:
    """Follow a job: one line (or JSON object) for every change."""
    board = _board(directory)
    deadline = time.monotonic() + seconds if seconds else float("inf")
    last = None
    while time.monotonic() < deadline:
        found = board.status()
        if found != last:
            print_json(status_fields(found)) if json else typer.echo(status_line(found))
            last = found
        time.sleep(0.25)


def plan_directory(directory: Path, slots: int | None, planner: str, tau: float | None, json: bool) -> None:
    """``whimbrel plan DIR``: a dry run on a job's own load."""
    from whimbrel.cli.planning_tables import print_plan
    from whimbrel.control.proposing import propose

    board = _board(directory)
    plan = propose(board, slots, planner, 0.2 if tau is None else tau, epochs=LOAD_EPOCHS)
    if json:
        print_json(_plan_fields(plan))
    else:
        print_plan(plan, board.load(LOAD_EPOCHS), len(plan.current.active_slots))
    if not plan.feasible:
        raise typer.Exit(INFEASIBLE)


def _board(directory: Path) -> Board:
    from whimbrel.control.board import Board

    text = str(directory)
    # A shell path turns memory:// and hdfs:// into one slash; give the second one back.
    scheme, colon, rest = text.partition(":/")
    if not (colon and scheme.isalnum()):
        return Board(str(directory.absolute()))
    address = f"{scheme}://{rest.lstrip('/')}"
    try:
        return Board(address)
    except (OSError, ValueError) as error:
        why = (str(error).splitlines() or ["no reason given"])[0]
        raise BadInput(
            f"{address}: this place cannot be opened here ({why}): name a local directory, or hdfs://"
        ) from None


def _plan_and_post(
    directory: Path,
    slots: int | None,
    planner: str,
    tau: float,
    pacing: tuple[str, int | None, int | None, str | None],
    wait_seconds: float | None,
    note: str,
    json: bool,
) -> None:
    from whimbrel.control.proposing import propose

    board = _board(directory)
    chosen = _pacing(*pacing)
    plan = propose(board, slots, planner, tau, epochs=LOAD_EPOCHS)
    facts = _plan_fields(plan)
    if not plan.feasible:
        if json:
            print_json(facts | {"posted": None})
        else:
            typer.echo(f"No plan: {plan.reason}.")
        raise typer.Exit(INFEASIBLE)
    _finish(board, board.post_plan(plan, chosen, note), facts, wait_seconds, json)


def _wait_seconds(wait: bool, timeout: str) -> float | None:
    from whimbrel.model.durations import milliseconds

    return milliseconds(timeout) / 1000 if wait else None


def _pacing(name: str, size: int | None, gap: int | None, p99: str | None) -> Any:
    from whimbrel.migration import Pacing
    from whimbrel.model.durations import milliseconds

    return Pacing.of(name, size, gap, None if p99 is None else milliseconds(p99))


def _finish(board: Board, number: int, facts: dict[str, Any], wait_seconds: float | None, json: bool) -> None:
    if not board.status().running:
        note("no query runs this job at the moment: the plan waits in the log until it is started")
    if wait_seconds is not None:
        from whimbrel.control.waiting import wait_until_settled

        wait_until_settled(board, wait_seconds, lambda found: note(status_line(found)))
    found = board.status()
    if json:
        print_json(facts | {"posted": number, "status": status_fields(found)})
        return
    shown = {name: value for name, value in facts.items() if name in POSTED and value is not None}
    print_pairs(shown | {"state": status_line(found)}, f"posted as record {number}; whimbrel history lists it")


def _posted(directory: Path, number: int, what: str, json: bool) -> None:
    if json:
        print_json({"directory": str(directory), "posted": number, "what": what})
    else:
        typer.echo(f"{what}: record {number} of {directory}; it takes effect at the next epoch")


def _plan_fields(plan: Plan) -> dict[str, Any]:
    from whimbrel.cli.planning_tables import plan_fields

    return plan_fields(plan, len(plan.current.active_slots))
