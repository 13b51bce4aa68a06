"""The ``whimbrel`` command: gathers the commands and turns errors into one line and an exit code.

0 done; 2 bad usage or bad input; 3 a correct "it cannot be done"; 1 a fault of ours; 130 interrupted; 143 terminated.
No error ends in a traceback unless ``--debug`` (anywhere on the line) asks for it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import typer

from whimbrel import __version__
from whimbrel.cli import debugging, java
from whimbrel.model.errors import BadInput, JobInUse, Stalled, WhimbrelError

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
    debugging.enabled = debugging.enabled or debug


def load_commands() -> typer.Typer:
    """The application with every command group; calling it again changes nothing."""
    if not app.registered_commands and not app.registered_groups:
        for group in GROUPS:
            import_module(f"whimbrel.cli.{group}").register(app)
    return app


def exit_code_of(error: BaseException) -> int:
    """The contract's exit code: 2 where the caller must change something, 1 where we must."""
    callers = (BadInput, JobInUse, Stalled, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
    return 2 if isinstance(error, callers) else 1


def line_of(error: BaseException) -> str:
    """The one line that a person reads. A fault of ours names its type and how to see where it happened."""
    lines = str(error).strip().splitlines()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror.lower()}"
    if isinstance(error, (WhimbrelError, TimeoutError)):
        return " ".join(" ".join(lines).split())
    first = lines[0][:300] if lines else "no message"
    return f"a fault of Whimbrel, {type(error).__name__}: {first} (see where with: whimbrel --debug ...)"


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point: runs one command and leaves with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debugging.enabled = "--debug" in given
    java.offer_to_spark(os.environ)
    signal.signal(signal.SIGTERM, _leave)
    try:
        code = _run([word for word in given if word != "--debug"])
        sys.stdout.flush()
    except BrokenPipeError:
        code = _reader_left()
    sys.exit(code)


def _leave(number: int, frame: object) -> NoReturn:
    """A polite kill takes the same way out as any other end, so that nothing is left running or lying about."""
    raise SystemExit(128 + number)


def _run(words: list[str]) -> int:
    """Runs a command and turns everything that it raises into an exit code."""
    try:
        command = typer.main.get_command(load_commands())
        with command.make_context("whimbrel", words) as context:
            command.invoke(context)
        return 0
    except typer.Exit as left:
        return left.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:
        if debugging.enabled:
            raise
        return _complain(java.explanation(error, os.environ) or error)


def _complain(error: Exception) -> int:
    usage = getattr(error, "format_message", None)
    if usage is None:
        typer.echo(f"whimbrel: {line_of(error)}", err=True)
        return exit_code_of(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(usage(), err=True)
    else:
        typer.echo(f"whimbrel: {' '.join(usage().split())} (see: whimbrel --help)", err=True)
    return 2


def _reader_left() -> int:
    """The reader of a pipe has seen enough: silence what is still buffered, and do not call that an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
