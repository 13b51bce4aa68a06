"""Commands of the experiments group: ``experiment list``, ``experiment run ID``, ``experiment all``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from whimbrel.cli.answers import note, print_json, writable_folder
from whimbrel.model import BadInput

DATA = typer.Option(None, "--data", help="Folder of real loads and traces.")
OUT = typer.Option(Path("out/experiments"), "--out", help="Folder for pictures and Parquet files.")
SIZE = typer.Option(None, "--size", help="NAME=NUMBER[,NUMBER...]: another size, where it has that one; repeat.")
JSON = typer.Option(False, "--json", help="Print one JSON object.")

group = typer.Typer(help="The figures and tables of the papers, measured again.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
    app.add_typer(group, name="experiment")


@group.command("list")
def list_experiments(json_output: bool = JSON) -> None:
    """Name every experiment and what it claims."""
    from whimbrel.experiments.catalogue import experiments

    known: list[dict[str, Any]] = [
        {"id": identity, "claim": found.CLAIM, "sizes": dict(getattr(found, "SIZES", {}))}
        for identity, found in experiments().items()
    ]
    if json_output:
        print_json({"experiments": known})
        return
    for entry in known:
        typer.echo(f"{entry['id']}\n    {entry['claim']}")
        sizes = " ".join(f"{name}={','.join(f'{v:g}' for v in values)}" for name, values in entry["sizes"].items())
        typer.echo(f"    sizes: {sizes}" if sizes else "", nl=bool(sizes))


@group.command("run")
def run_experiment(
    identity: str = typer.Argument(..., metavar="ID", help="One id of `experiment list`."),
    data: Path | None = DATA,
    out: Path = OUT,
    size: list[str] | None = SIZE,
    json_output: bool = JSON,
) -> None:
    """Run one experiment; its picture and Parquet file land in --out."""
    from whimbrel.experiments.catalogue import run_experiment as run

    sizes = dict(_size_of(text) for text in size or ())
    answer = run(identity, data, writable_folder(out), sizes)
    if json_output:
        print_json(answer)
    else:
        _print_verdicts([answer])


@group.command("all")
def run_all(data: Path | None = DATA, out: Path = OUT, json_output: bool = JSON) -> None:
    """Run every experiment; those that lack data say so and the others go on."""
    from whimbrel.experiments.catalogue import experiments

    writable_folder(out)
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


def _size_of(text: str) -> tuple[str, tuple[float, ...]]:
    name, _, values = text.partition("=")
    try:
        numbers = tuple(float(value) if "." in value else int(value) for value in values.split(","))
    except ValueError:
        raise BadInput(f"--size {text!r}: write NAME=NUMBER or NAME=NUMBER,NUMBER, for example keys=1000000") from None
    return name, numbers


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
