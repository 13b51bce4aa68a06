"""The ``whimbrel`` command: gathers the commands and turns errors into one line and an exit code.

0 done; 2 bad usage or bad input; 3 a correct "it cannot be done"; 1 a fault of ours.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer

from whimbrel import __version__
from whimbrel.cli import debugging
from whimbrel.model.errors import BadInput, JobInUse, WhimbrelError

GROUPS = ("planning", "lookahead", "placement", "nexmark", "bench", "demo", "jobs", "experiments")
"""Modules of this room, in the order of the help; each has ``register(app)``."""

app = typer.Typer(
    name="whimbrel",
    help="Moves the state of a running PySpark stream, live, by a plan that moves the least.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"whimbrel {__version__}")
        raise typer.Exit


@app.callback()
def root(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Options that every command understands."""
    debugging.enabled = debug


def load_commands() -> typer.Typer:
    """The application with every command group that this installation has."""
    for group in GROUPS:
        import_module(f"whimbrel.cli.{group}").register(app)
    return app


def exit_code_of(error: BaseException) -> int:
    """The contract's exit code: 2 where the caller must change something, 1 where we must."""
    return 2 if isinstance(error, BadInput | JobInUse) else 1


def main(arguments: list[str] | None = None) -> Any:
    """Entry point: errors of the tree become one line on standard error."""
    try:
        return load_commands()(args=arguments)
    except (WhimbrelError, OSError) as error:
        if debugging.enabled or "--debug" in (arguments or sys.argv):
            raise
        typer.echo(f"whimbrel: {' '.join(str(error).split())}", err=True)
        sys.exit(2 if isinstance(error, OSError) else exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(130)
