"""``whimbrel mice simulate``: queries and servers that come and go, under one online rule or several on the same events."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from whimbrel.cli.answers import note, print_json, writable_file
from whimbrel.model.errors import BadInput

if TYPE_CHECKING:
    from whimbrel.placement.simulation import Course

_LASTING = "forever"


def simulate(
    rule: list[str] = typer.Option(["least-cost"], "--rule", help="Online rule; repeat to compare on the same events."),
    steps: int = typer.Option(100_000, "--steps", min=1, help="Time steps."),
    servers: int = typer.Option(100, "--servers", help="Servers at the start."),
    arrivals: float = typer.Option(1.0, "--arrivals", help="Mean queries that arrive per step (Poisson)."),
    lifetime: str = typer.Option("", "--lifetime", help="Mean steps a query lives, or 'forever'; a tenth of --steps."),
    lifetimes: str = typer.Option("exponential", "--lifetimes", help="exponential or pareto."),
    pareto_shape: float = typer.Option(1.5, "--pareto-shape", help="Tail of Pareto lifetimes, over 1."),
    server_change: int | None = typer.Option(
        None, "--server-change", help="A server joins or goes every so many steps; never without."
    ),
    failures: float = typer.Option(0.0, "--failures", help="Share of the servers that go which fail."),
    beta: float = typer.Option(2.0, "--beta", help="Exponent of the popularity law of sources."),
    degree: int = typer.Option(2, "--degree", help="How many sources each query reads."),
    rates: str = typer.Option("unit", "--rates", help="unit, random, positive or negative (to popularity)."),
    nu: str = typer.Option("0.05", "--nu", help="Relative slack of the servers."),
    alpha: str = typer.Option("10", "--alpha", help="Absolute slack of the servers."),
    draws: int = typer.Option(64, "--draws", min=1, help="settling: live queries looked at per arrival."),
    seed: int = typer.Option(0, "--seed", min=0, help="The same seed makes the same course."),
    samples: int = typer.Option(100, "--samples", min=1, help="Rows of the time series."),
    out: Path | None = typer.Option(None, "--out", help="Write the time series here (Parquet)."),
    plot: Path | None = typer.Option(None, "--plot", help="Write a picture of traffic and balance over time."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object, the time series in it."),
) -> None:
    """Places queries as they come, for a long time, while others end and servers join, leave and fail."""
    import numpy as np

    from whimbrel.placement import generate_instance
    from whimbrel.placement.churn import draw_events
    from whimbrel.placement.simulation import simulate as run

    _require_writable(out, plot)
    rng = np.random.default_rng(seed)
    mean = _mean_lifetime(lifetime, steps)
    events = draw_events(steps, rng, arrivals, mean, lifetimes, pareto_shape, server_change, failures)
    if not events.arrivals:
        raise BadInput(f"no query arrives in {steps} steps: raise --steps or --arrivals")
    instance = generate_instance(events.arrivals, beta, degree, servers, rng, rates=rates, nu=nu, alpha=alpha)
    courses: dict[str, Course] = {}
    seconds: dict[str, float] = {}
    for name in dict.fromkeys(rule):
        note(f"{name}: {events.arrivals:,} arrivals in {steps:,} steps on {servers:,} servers")
        started = time.perf_counter()
        courses[name] = run(instance, events, name, np.random.default_rng(seed), samples, draws)
        seconds[name] = time.perf_counter() - started
    _save(courses, out, plot)
    results = [summary(name, course, seconds[name]) for name, course in courses.items()]
    if as_json:
        series = {name: _columns(course) for name, course in courses.items()}
        print_json({"steps": steps, "arrivals": events.arrivals, "results": results, "series": series})
    else:
        _print_table(results, steps)


def summary(rule: str, course: Course, seconds: float) -> dict[str, Any]:
    """The figures of a course: means over its second half, when the start is forgotten, and what was moved in all."""
    half = len(course.series) // 2
    factors, imbalances = course.replication_factors(), course.imbalances()
    return {
        "rule": rule,
        "live": int(course.column("live")[-1]),
        "servers": int(course.column("servers")[-1]),
        "traffic": float(course.column("traffic")[half:].mean()),
        "replication_factor": float(factors[half:].mean()),
        "imbalance": float(imbalances[half:].mean()),
        "imbalance_max": float(imbalances[half:].max()),
        "settled": course.settled,
        "forced": course.forced,
        "restored": course.restored,
        "seconds": seconds,
    }


def _require_writable(out: Path | None, plot: Path | None) -> None:
    """A run of minutes must not end in a file that never could be written."""
    if out is not None:
        writable_file("--out", out)
    if plot is not None:
        from whimbrel.cli.placement_plot import require_picture

        require_picture(plot)


def _mean_lifetime(text: str, steps: int) -> float | None:
    if text == _LASTING:
        return None
    try:
        return float(text) if text else steps / 10
    except ValueError:
        raise BadInput(f"--lifetime is {text!r}: give a number of steps, or '{_LASTING}'") from None


def _columns(course: Course) -> dict[str, list[float]]:
    from whimbrel.placement.simulation import COLUMNS

    columns = {name: course.column(name).tolist() for name in COLUMNS}
    return {
        **columns,
        "replication_factor": course.replication_factors().tolist(),
        "imbalance": course.imbalances().tolist(),
    }


def _save(courses: dict[str, Course], out: Path | None, plot: Path | None) -> None:
    if out is not None:
        import pyarrow as pa
        from pyarrow import parquet

        tables = []
        for rule, course in courses.items():
            columns = _columns(course)
            tables.append(pa.table({"rule": [rule] * len(columns["step"]), **columns}))
        try:
            parquet.write_table(pa.concat_tables(tables), out)
        except OSError as error:
            raise BadInput(f"{out} cannot be written: {error.strerror or error}") from None
    if plot is not None:
        from whimbrel.cli.placement_plot import save_course_picture

        save_course_picture(courses, plot)


def _print_table(results: list[dict[str, Any]], steps: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    live, servers = results[0]["live"], results[0]["servers"]
    table = Table(title=f"{steps:,} steps; at their end {live:,} live queries on {servers:,} servers", box=SIMPLE_HEAD)
    names = ("rule", "factor", "fullest", "settled", "forced", "restored", "seconds")
    for name in names:
        table.add_column(name, justify="left" if name == "rule" else "right")
    for found in results:
        table.add_row(
            found["rule"],
            f"{found['replication_factor']:.3f}",
            f"{found['imbalance']:.3f}",
            *(f"{found[name]:,}" for name in ("settled", "forced", "restored")),
            f"{found['seconds']:.2f}",
        )
    console = Console(highlight=False)
    console.print(table)
    console.print("factor: traffic per rate of the sources in use; fullest: load of the fullest")
    console.print("server per mean load. Both are means over the second half; moves are all of them.")
