"""Commands of the lookahead group: ``mtm estimate``, ``mtm project`` and ``mtm backtest``."""

from __future__ import annotations

from pathlib import Path

import typer

from whimbrel.model import BadInput

JSON = typer.Option(False, "--json", help="Print one JSON object.")


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
    group = typer.Typer(
        help="Look ahead: how slot counts follow each other, and what that makes each partition cost.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    group.command("estimate")(estimate)
    group.command("project")(project)
    group.command("backtest")(backtest)
    app.add_typer(group, name="mtm")


def estimate(
    nodes: Path | None = typer.Option(None, "--nodes", help="CSV with the slot count of every interval."),
    counts: Path | None = typer.Option(None, "--counts", help="CSV with the load of every interval instead."),
    log: Path | None = typer.Option(None, "--log", help="Parquet, CSV or JSON with one row per event, on Spark."),
    column: str | None = typer.Option(None, "--column", help="The column to read (default: nodes, count, or time)."),
    interval_seconds: int = typer.Option(3600, "--interval", help="--log: seconds of an interval."),
    cores: int = typer.Option(2, "--cores", min=1, help="--log: cores of the local Spark."),
    states: str = typer.Option("8,10,12,14,16", "--states", help="Slot counts that --counts and --log may map to."),
    normalisation: str = typer.Option(
        "equal-width", "--normalisation", help="equal-width, percentile or proportional: from load to slot counts."
    ),
    self_moves: bool = typer.Option(False, "--self-moves", help="Count intervals that keep the slot count too."),
    json_output: bool = JSON,
) -> None:
    """Estimate the migration transition matrix from a log."""
    from whimbrel.cli.lookahead_answers import show_matrix
    from whimbrel.planning.mtm_log import read_counts, read_slot_counts
    from whimbrel.planning.mtm_matrix import estimate as matrix_of
    from whimbrel.planning.mtm_slots import fit_rule

    if sum(source is not None for source in (nodes, counts, log)) != 1:
        raise BadInput("name one of --nodes FILE (slot counts), --counts FILE (load) and --log PATH (events)")
    if nodes is not None:
        show_matrix(matrix_of(read_slot_counts(nodes, column or "nodes"), self_moves), None, json_output)
        return
    known = whole_numbers(states)
    if log is not None:
        from whimbrel.cli.lookahead_log import estimate_from_log

        found = estimate_from_log(log, column or "time", interval_seconds, known, normalisation, self_moves, cores)
        show_matrix(*found, json_output)
        return
    assert counts is not None
    load = read_counts(counts, column or "count")
    rule = fit_rule(load, known, normalisation)
    show_matrix(matrix_of(rule.slots_for(load), self_moves, known), rule, json_output)


def project(
    instance: Path = typer.Option(..., "--instance", help="JSON file: work, state, tau, states, matrix, gamma."),
    out: Path = typer.Option(..., "--out", help="Folder for the projected costs; a killed run goes on from here."),
    method: str = typer.Option("exact", "--method", help="exact, or additive where partitions are too many."),
    engine: str = typer.Option("auto", "--engine", help="spark, here (this process), or auto: by size."),
    cores: int = typer.Option(2, "--cores", min=1, help="Cores of the local Spark."),
    most: int | None = typer.Option(None, "--most", help="The most partitions that exact takes on."),
    tolerance: float = typer.Option(1e-12, "--tolerance", help="Error bound, as a share of the total state."),
    samples: int = typer.Option(300, "--samples", min=1, help="additive: partitions per slot count and round."),
    rounds: int = typer.Option(30, "--rounds", min=1, help="additive: rounds of fitted value iteration."),
    seed: int = typer.Option(0, "--seed", help="additive: the seed of its random walks."),
    json_output: bool = JSON,
) -> None:
    """Compute the discounted cost of all that is to come, for every feasible partition."""
    from whimbrel.cli.answers import read_json_object
    from whimbrel.cli.lookahead_project import project_additively, project_exactly
    from whimbrel.planning.projection_instance import ProjectionInstance

    asked = ProjectionInstance.from_json(read_json_object(instance), str(instance))
    if method == "exact":
        project_exactly(asked, out, engine, cores, most, tolerance, json_output)
    elif method == "additive":
        project_additively(asked, out, samples, rounds, seed, json_output)
    else:
        raise BadInput(f"there is no method {method!r}: choose exact or additive")


def backtest(
    projected: Path = typer.Option(..., "--projected", help="Folder that `mtm project` wrote."),
    nodes: Path = typer.Option(..., "--nodes", help="CSV with the slot count of every interval of the past."),
    column: str = typer.Option("nodes", "--column", help="The column to read."),
    apply: bool = typer.Option(True, "--apply/--no-apply", help="Switch look-ahead off in the folder if it lost."),
    json_output: bool = JSON,
) -> None:
    """Say what look-ahead would have saved on recorded history, and switch it off where it does not pay."""
    from whimbrel.cli.lookahead_answers import show_backtest
    from whimbrel.planning.mtm_backtest import backtest_folder
    from whimbrel.planning.mtm_log import read_slot_counts

    show_backtest(backtest_folder(projected, read_slot_counts(nodes, column), apply), json_output)


def whole_numbers(text: str) -> tuple[int, ...]:
    """The whole numbers of a comma-separated list. Raises BadInput where there is something else."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise BadInput(f"{text!r} is no list of whole numbers: write 8,10,12") from None
