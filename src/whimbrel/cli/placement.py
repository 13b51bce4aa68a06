"""``whimbrel place`` and ``whimbrel mice generate``: where many small queries live, and instances to try."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from whimbrel.cli.answers import INFEASIBLE, note, print_json, read_json_object, writable_file
from whimbrel.cli.placement_simulation import simulate
from whimbrel.model.errors import BadInput

if TYPE_CHECKING:
    from whimbrel.placement import CannotPlace, Placement, PlacementInstance

mice = typer.Typer(help="Many small queries: instances to place, and their coming and going.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds ``place`` and ``mice``."""
    app.command()(place)
    app.add_typer(mice, name="mice")


def place(
    instance: Path = typer.Option(..., "--instance", help="JSON: rates, queries, servers, nu, alpha."),
    algorithm: str = typer.Option("partitioner", "--algorithm", help="Which algorithm places the queries."),
    order: str = typer.Option("", "--order", help="mqp, ic, mms: which of two equal types goes first."),
    fill: str = typer.Option("", "--fill", help="mqp: fill each server to 'theta' or to its 'limit'."),
    solver: str = typer.Option("", "--solver", help="partitioner: 'auto', 'own' or 'mtkahypar'."),
    seed: int = typer.Option(0, "--seed", min=0, help="Replays every random choice."),
    plot: Path | None = typer.Option(None, "--plot", help="Write a picture of loads and traffic (SVG)."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Places queries on servers so that few streams are sent twice and no server carries too much."""
    import numpy as np

    from whimbrel.placement import CannotPlace, instance_of_json
    from whimbrel.placement import place as placed

    if plot is not None:
        from whimbrel.cli.placement_plot import require_picture

        require_picture(plot)
    problem = instance_of_json(read_json_object(instance))
    options = {name: value for name, value in (("order", order), ("fill", fill), ("solver", solver)) if value}
    started = time.perf_counter()
    try:
        found = placed(problem, algorithm, np.random.default_rng(seed), options)
    except CannotPlace as error:
        _say_infeasible(error, algorithm, as_json)
        raise typer.Exit(INFEASIBLE) from None
    seconds = time.perf_counter() - started
    if plot is not None:
        from whimbrel.cli.placement_plot import save_placement_picture

        save_placement_picture(problem, found, plot)
    if as_json:
        print_json(_answer(found, seconds))
    else:
        _print_table(problem, found, seconds)


@mice.command("generate")
def generate(
    queries: int = typer.Option(..., "--queries", help="How many queries."),
    servers: int = typer.Option(..., "--servers", help="How many servers."),
    out: Path = typer.Option(..., "--out", help="The instance is written here, as JSON."),
    beta: float = typer.Option(2.0, "--beta", help="Exponent of the popularity law of sources."),
    degree: int = typer.Option(2, "--degree", help="How many sources each query reads."),
    sources: int | None = typer.Option(None, "--sources", help="How many sources; without it the law decides."),
    rates: str = typer.Option("unit", "--rates", help="unit, random, positive or negative (to popularity)."),
    rate_exponent: float = typer.Option(2.0, "--rate-exponent", help="Exponent of random rates."),
    nu: str = typer.Option("0.05", "--nu", help="Relative slack of the servers."),
    alpha: str = typer.Option("10", "--alpha", help="Absolute slack of the servers, online only."),
    seed: int = typer.Option(0, "--seed", min=0, help="The same seed makes the same instance."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object about what was written."),
) -> None:
    """Writes a random instance: source popularity by a power law, every query of the same degree."""
    import numpy as np

    from whimbrel.placement import generate_instance, json_of_instance

    writable_file("--out", out)
    rng = np.random.default_rng(seed)
    made = generate_instance(queries, beta, degree, servers, rng, sources, rates, rate_exponent, nu, alpha)
    try:
        out.write_text(json.dumps(json_of_instance(made)) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    used = len(np.unique(made.sources))
    if as_json:
        print_json(
            {"queries": queries, "sources": len(made.rates), "used_sources": used, "servers": servers, "out": str(out)}
        )
    else:
        note(f"{out}: {queries} queries of {degree} out of {len(made.rates)} sources, {servers} servers")


mice.command("simulate")(simulate)


def _answer(found: Placement, seconds: float) -> dict[str, Any]:
    return {
        "feasible": True,
        "algorithm": found.algorithm,
        "server": found.server.tolist(),
        "cost": _plain(found.cost),
        "replication_factor": found.replication_factor,
        "lower_bound": _plain(found.lower_bound),
        "gap": found.gap,
        "random_cost": found.random_cost,
        "max_load": found.max_load,
        "limit": found.limit,
        "loads": found.loads.tolist(),
        "seconds": seconds,
        **found.details,
    }


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _say_infeasible(error: CannotPlace, algorithm: str, as_json: bool) -> None:
    """``feasible`` is false where that is proved, and null where no placement was found and there may be one."""
    if as_json:
        feasible = False if error.proved else None
        answer: dict[str, Any] = {"feasible": feasible, "proved": error.proved, "algorithm": algorithm}
        answer["reason"] = str(error)
        if error.smallest_nu is not None:
            answer["smallest_nu"] = error.smallest_nu
        print_json(answer)
    else:
        note(f"cannot be placed: {error}" if error.proved else f"no placement was found: {error}")


def _print_table(problem: PlacementInstance, found: Placement, seconds: float) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{problem.queries} queries on {problem.servers} servers, by {found.algorithm}")
    table.add_column("figure")
    table.add_column("value", justify="right")
    mean = problem.total_work / problem.servers
    rows = {
        "traffic": f"{found.cost:,.6g}",
        "replication factor": f"{found.replication_factor:.4f}",
        "no placement is under": f"{found.lower_bound:,.6g}",
        "at most over the least possible": f"{found.gap:.1%}",
        "at random it would be": f"{found.random_cost:,.6g}",
        "fullest server": f"{found.max_load:,} of {found.limit:,}",
        "emptiest server": f"{int(found.loads.min()):,}",
        "mean work per server": f"{mean:,.1f}",
        **{name: str(value) for name, value in found.details.items()},
        "seconds": f"{seconds:.3f}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    Console().print(table)
