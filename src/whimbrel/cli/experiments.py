"""Commands of the experiments group: ``experiment list``, ``experiment run ID``, ``experiment all``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from whimbrel.cli.answers import note, print_json
from whimbrel.model import BadInput

DATA = typer.Option(None, "--data", help="Folder of real loads and traces.")
OUT = typer.Option(Path("out/experiments"), "--out", help="Folder for pictures and Parquet files.")
JSON = typer.Option(False, "--json", help="Print one JSON object.")

group = typer.Typer(help="The figures and tables of the papers, measured again.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
    app.add_typer(group, name="experiment")


@group.command("list")
def list_experiments(json_output: bool = JSON) -> None:
    """Name every experiment and what it claims."""
    from whimbrel.experiments.catalogue import experiments

    known = [{"id": identity, "claim": found.CLAIM} for identity, found in experiments().items()]
    if json_output:
        print_json({"experiments": known})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("id", "claim")
    for entry in known:
        table.add_row(entry["id"], entry["claim"])
    Console(highlight=False).print(table)


@group.command("run")
def run_experiment(
    identity: str = typer.Argument(..., metavar="ID", help="One id of `experiment list`."),
    data: Path | None = DATA,
    out: Path = OUT,
    json_output: bool = JSON,
) -> None:
    """Run one experiment; its picture and Parquet file land in --out."""
    from whimbrel.experiments.catalogue import experiment

    answer = experiment(identity).run(data, out)
    if json_output:
        print_json(answer)
    else:
        _print_verdicts([answer])


@group.command("all")
def run_all(data: Path | None = DATA, out: Path = OUT, json_output: bool = JSON) -> None:
    """Run every experiment; those that lack data say so and the others go on."""
    from whimbrel.experiments.catalogue import experiments

    answers: list[dict[str, Any]] = []
    for identity, found in experiments().items():
        note(f"running {identity}")
        try:
            answers.append(found.run(data, out))
        except BadInput as error:
            answers.append({"id": identity, "claim": found.CLAIM, "holds": None, "figures": [], "skipped": str(error)})
    if json_output:
        print_json({"experiments": answers})
    else:
        _print_verdicts(answers)


def _print_verdicts(answers: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("id", "holds", "claim", "figures")
    for answer in answers:
        verdict = "-" if answer["holds"] is None else "yes" if answer["holds"] else "no"
        remark = answer.get("skipped") or answer.get("finding") or ""
        table.add_row(answer["id"], verdict, f"{answer['claim']}\n{remark}".strip(), "\n".join(answer["figures"]))
        for part in answer.get("claims", ()):
            against = f"\nnot at {', '.join(part['fails_at'])}" if part.get("fails_at") else ""
            table.add_row("", "yes" if part["holds"] else "no", part["claim"] + against, "")
    Console(highlight=False).print(table)
