"""What the commands on a job directory say: one JSON object, or a few lines for the person with the pager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from whimbrel.control.board import Status
    from whimbrel.runtime.audit_report import AuditReport

HISTORY_COLUMNS = ("no", "when (UTC)", "what", "planner", "pacing", "bytes planned", "steps", "ended", "note")
RECORDS = {
    "PlanPosted": "plan",
    "Paused": "pause",
    "Resumed": "resume",
    "Cancelled": "cancel",
    "RolledBack": "rollback",
}
"""The kinds of record, as a person says them."""


def status_fields(found: Status) -> dict[str, Any]:
    """The status as plain data."""
    return asdict(found) | {"active_slots": len(found.slots)}


def state_word(found: Status) -> str:
    """One word for what the job does: paused, settled or moving."""
    return "paused" if found.paused else "settled" if found.settled else "moving"


def status_line(found: Status) -> str:
    """The status on one line, for following."""
    epoch = "no epoch yet" if found.epoch < 0 else f"epoch {found.epoch}"
    driver = "" if found.running else "; its query does not run" if found.driver else "; no driver runs"
    return (
        f"{epoch}: {len(found.slots)} slots, {state_word(found)}, plan {found.plan or '-'}, "
        f"{found.remaining} bins to go, {found.travelling} travelling{driver}"
    )


def print_status(found: Status, max_slots: int) -> None:
    """The status as a few lines."""
    plan = f"{found.plan}: {found.remaining} bins to go, {found.travelling} travelling" if found.plan else "none"
    if found.waiting:
        plan += f"; waiting: {', '.join(map(str, found.waiting))}"
    driver = f"running, generation {found.generation}" if found.running else "none: the query is not running"
    if found.driver and not found.running:
        driver = f"alive, generation {found.generation}, and its query does not run"
    facts = {
        "job": f"{found.name} in {found.directory}",
        "driver": driver,
        "epoch": "none yet" if found.epoch < 0 else str(found.epoch),
        "slots": f"{len(found.slots)} of at most {max_slots}: {', '.join(map(str, found.slots))}",
        "bins": str(found.bins),
        "state": state_word(found),
        "plan": plan,
        "steps so far": str(found.steps),
    }
    print_pairs(facts)


def print_pairs(facts: Mapping[str, Any], title: str = "") -> None:
    """Names and values in two columns, without a frame, so that they can be cut and searched."""
    if title:
        typer.echo(title)
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {value}")


def print_history(stories: Sequence[Mapping[str, Any]]) -> None:
    """One line for each record, oldest first; lines are never broken, so that they can be searched."""
    if not stories:
        print_pairs({"history": "nothing was posted to this job yet"})
        return
    rows = [list(HISTORY_COLUMNS), *(_history_row(story) for story in stories)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _history_row(story: Mapping[str, Any]) -> list[str]:
    when = datetime.fromtimestamp(int(story["posted_at_ms"]) / 1000, timezone.utc)
    what = str(story["what"])
    cost = f"{story['cost_bytes']:,}" if "cost_bytes" in story else ""
    ended = str(story.get("ended", ""))
    if story.get("ended_epoch") is not None:
        ended += f" in epoch {story['ended_epoch']}"
    cells = [str(story["number"]), f"{when:%Y-%m-%d %H:%M:%S}", RECORDS.get(what, what)]
    cells += [str(story.get(name, "")) for name in ("planner", "pacing")]
    return [*cells, cost, str(story.get("steps", "")), ended, str(story["note"])]


def print_audit(report: AuditReport) -> None:
    """The verdict, what was proved, and every fault."""
    operators = ", ".join(f"{name}: {rows:,} rows" for name, rows in report.operators.items())
    facts = {
        "audit": "ok" if report.ok else "FAILED",
        "bins": f"{report.bins:,} with exactly one owner",
        "owners": "ok" if report.owners_ok else "FAILED",
        "digests": "ok" if report.digest_ok else "FAILED",
        "epoch": f"{report.epoch}, the newest committed one",
        "rows": f"{report.rows:,} of {report.rows_in:,} taken in ({operators})" if operators else "0",
        "travelling": f"{report.travelling} moves",
    }
    print_pairs(facts)
    for fault in report.faults:
        print_pairs({"fault": fault})
