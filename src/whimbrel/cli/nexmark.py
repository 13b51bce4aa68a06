"""Commands of the nexmark group: make the benchmark's events, and run its queries with live migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from whimbrel.cli.answers import note, print_json
from whimbrel.model.errors import BadInput

group = typer.Typer(help="The NEXMark benchmark: generate events, run queries.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
    app.add_typer(group, name="nexmark")


@group.command("generate")
def generate(
    events: int = typer.Option(..., "--events", help="How many events."),
    out: Path = typer.Option(..., "--out", help="Directory for the folders person, auction and bid."),
    form: str = typer.Option("jsonl", "--format", help="jsonl or parquet."),
    rate: int = typer.Option(10_000, "--rate", help="Events per second of event time."),
    seed: int = typer.Option(0, "--seed", help="Another seed makes other events with the same ids."),
    out_of_order: int = typer.Option(1, "--out-of-order", help="Size of the groups within which events are shuffled."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Write events to three folders, the same for everybody with the same options."""
    from whimbrel.nexmark.events import Rules, write_files

    rows = write_files(out, events, Rules(seed=seed, rate=rate, out_of_order=out_of_order), form)
    if json:
        print_json({"events": events, **rows, "out": str(out), "format": form})
    else:
        note(f"{events:,} events in {out}: " + ", ".join(f"{count:,} {kind}s" for kind, count in rows.items()))


@group.command("run")
def run(
    query: str = typer.Argument(..., help="q0 to q9, q11, q13 to q15, q17 to q20."),
    events: Path = typer.Option(..., "--events", help="The generated folders, or JSON lines of other origin."),
    out: Path = typer.Option(..., "--out", help="Directory for the result as Parquet."),
    window: str | None = typer.Option(
        None, "--window", help="The query's window, or q11's gap. Default: 10 seconds; a day for q15 to q19."
    ),
    slide: str | None = typer.Option(None, "--slide", help="Slide of q5; half of the window by default."),
    ignore_reserve: bool = typer.Option(False, "--ignore-reserve", help="Count bids below the reserve as well."),
    delay: str | None = typer.Option(None, "--delay", help="Watermark delay; by default nothing is late."),
    slots: int = typer.Option(2, "--slots", help="Active slots at the start."),
    rescale: str = typer.Option("", "--rescale", help='Migrations, as "EPOCH:SLOTS[,...]".'),
    pacing: str = typer.Option("batched", "--pacing", help="How a plan becomes steps."),
    p99: str = typer.Option("2 seconds", "--p99", help="Latency that the budget pacing keeps to."),
    bins: int = typer.Option(256, "--bins", help="Bins of the job, a power of two."),
    epochs: int | None = typer.Option(None, "--epochs", help="Into how many epochs the events are divided."),
    changes: bool = typer.Option(False, "--changes", help="q4 and q6: every change, not only the last per key."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Run a query over events, migrating its state live on the way."""
    from whimbrel.cli.spark_session import quiet_session
    from whimbrel.migration import Pacing
    from whimbrel.nexmark.arrivals import read_events
    from whimbrel.nexmark.running import Run, refuse_old_results
    from whimbrel.nexmark.running import run as run_query

    Pacing.of(pacing, p99_ms=_milliseconds(p99))
    wanted = Run(
        query,
        settings=_settings(query, window, slide, ignore_reserve),
        delay_ms=None if delay is None else _milliseconds(delay, zero=True),
        slots=slots,
        bins=bins,
        rescale=_parse_rescale(rescale),
        pacing=pacing,
        p99_ms=_milliseconds(p99),
        epochs=epochs,
        changes=changes,
    )
    # What is wrong with the input is said before Spark takes its seconds to start.
    refuse_old_results(out)
    rows = read_events(events)
    with quiet_session() as spark:
        answer = run_query(spark, wanted, rows, out)
    _warn_of_doubt(answer)
    _print(answer, out, json)


@group.command("check")
def check(
    queries: list[str] = typer.Argument(None, help="Queries to check; all by default."),
    count: int | None = typer.Option(None, "--events", help="How many events to generate for it; 100,000 by default."),
    own: Path | None = typer.Option(None, "--from", help="Your own events in their place: folders, or JSON lines."),
    ignore_reserve: bool = typer.Option(False, "--ignore-reserve", help="Count bids below the reserve as well."),
    window: str = typer.Option("10 seconds", "--window", help="The window of every query that has one."),
    slide: str | None = typer.Option(None, "--slide", help="Slide of q5; half of the window by default."),
    seed: int | None = typer.Option(None, "--seed", help="Another seed than 0 makes other events."),
    out_of_order: int | None = typer.Option(
        None, "--out-of-order", help="Size of the groups within which events are shuffled; 1 by default."
    ),
    pacing: str = typer.Option("batched", "--pacing", help="How a plan becomes steps."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Run queries from 2 slots to 4, a random rebalance and 3, and compare each result with two batch engines."""
    from tempfile import TemporaryDirectory

    from whimbrel.bench.needed import need
    from whimbrel.cli.spark_session import quiet_session
    from whimbrel.migration import Pacing
    from whimbrel.nexmark.checking import Journey
    from whimbrel.nexmark.checking import check as check_query
    from whimbrel.nexmark.reference import QUERIES

    Pacing.of(pacing, p99_ms=1.0)
    need("duckdb")
    journey, found = Journey(pacing=pacing), []
    runs = [journey.of(query, _settings(query, window, slide, ignore_reserve)) for query in queries or QUERIES]
    rows = _events_to_check(own, count, seed, out_of_order)
    with TemporaryDirectory(prefix="whimbrel-nexmark-") as folder, quiet_session() as spark:
        for wanted in runs:
            answer = check_query(spark, wanted, rows, Path(folder) / wanted.query)
            found.append(answer)
            _warn_of_doubt(answer)
            verdict = "equal to DuckDB and Spark SQL" if answer["equal"] else "DIFFERENT"
            note(f"{wanted.query}: {verdict}; {answer['moves']} moves, {answer['seconds']} s")
    if json:
        print_json({"events": len(rows), "equal": all(each["equal"] for each in found), "queries": found})
    else:
        _table(f"{len(rows):,} events, 2 slots to 4, shuffled, to 3", found, ("query", *_COUNTS, "duckdb", "spark_sql"))
    if not all(each["equal"] for each in found):
        for row in [row for each in found for row in each["differences"]]:
            note(row)
        raise typer.Exit(1)


@group.command("lines")
def lines(json: bool = typer.Option(False, "--json", help="Print one JSON object.")) -> None:
    """Count the lines of code of every query, natively and with Whimbrel's operators."""
    from whimbrel.nexmark.lines import table

    rows = table()
    if json:
        print_json({"queries": rows})
    else:
        _table("lines of code", rows, ("query", "native", "migratable", "shared"))


def _events_to_check(own: Path | None, count: int | None, seed: int | None, out_of_order: int | None) -> Any:
    """The user's events, or generated ones."""
    import pyarrow as pa

    from whimbrel.nexmark.arrivals import read_events
    from whimbrel.nexmark.events.generator import chunks
    from whimbrel.nexmark.events.rules import Rules

    if own is None:
        rules = Rules(seed=seed or 0, out_of_order=1 if out_of_order is None else out_of_order)
        wanted = 100_000 if count is None else count
        if wanted < 1:
            raise BadInput(f"--events {wanted}: it must be at least 1")
        return pa.Table.from_batches([part.interleaved() for part in chunks(0, wanted, rules)])
    made = {"--events": count, "--seed": seed, "--out-of-order": out_of_order}
    for name, value in made.items():
        if value is not None:
            raise BadInput(f"{name} is for events that are generated: leave it out with --from")
    return read_events(own)


def _warn_of_doubt(answer: dict[str, Any]) -> None:
    from whimbrel.nexmark.repeated_ids import doubt

    if answer["repeated_ids"]:
        note(doubt(answer["query"], answer["repeated_ids"]))


def _settings(query: str, window: str | None, slide: str | None, ignore_reserve: bool) -> Any:
    from whimbrel.nexmark.settings import settings_of

    window_ms, slide_ms = (None if each is None else _milliseconds(each) for each in (window, slide))
    return settings_of(query, window_ms, slide_ms, ignore_reserve)


def _milliseconds(duration: str, zero: bool = False) -> int:
    from whimbrel.model.durations import milliseconds

    found = milliseconds(duration)
    if found < (0 if zero else 1):
        raise BadInput(f"{duration!r} is too short: name at least 1 millisecond")
    return found


def _parse_rescale(text: str) -> dict[int, int]:
    """``"3:4,6:3"`` as {3: 4, 6: 3}."""
    found: dict[int, int] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        epoch, _, slots = part.partition(":")
        if not (epoch.strip().isdecimal() and slots.strip().isdecimal()):
            raise BadInput(f"--rescale {text!r}: write EPOCH:SLOTS, as in '3:4,6:3'")
        if int(epoch) in found:
            raise BadInput(f"--rescale {text!r}: epoch {int(epoch)} is named twice")
        found[int(epoch)] = int(slots)
    return found


_COUNTS = ("rows_in", "rows_out", "epochs", "moves", "seconds")


def _print(answer: dict[str, Any], out: Path, json: bool) -> None:
    if json:
        print_json({**answer, "out": str(out)})
    else:
        _table(f"{answer['query']} over {answer['rows_in']:,} events", [answer], _COUNTS)


def _table(title: str, rows: list[Any], columns: tuple[str, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*(f"{row[name]:,}" if type(row[name]) in (int, float) else str(row[name]) for name in columns))
    Console().print(table)
