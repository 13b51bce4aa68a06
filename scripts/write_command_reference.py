"""Writes docs/reference/command-line.md from the commands' own help, so that the two cannot part."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from whimbrel.cli.app import load_commands

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "command-line.md"

OPENING = """# Command line

Written by `make reference` from the commands' own help. Exit codes: 0 done; 2 bad usage or bad input (one line on
standard error); 3 a correct "it cannot be done"; 1 a fault of Whimbrel. With `--json` a command prints exactly one JSON
object on standard output. `whimbrel --debug COMMAND` shows the traceback of an error.
"""


def visible(text: str | None) -> str:
    """A help text as one Markdown line."""
    return re.sub(r"\s+", " ", (text or "").split("\f")[0]).strip().replace("|", "\\|")


def rows_of(command: Any) -> Iterator[str]:
    """One table row for each argument and option."""
    context = command.context_class(command)
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or "--help" in parameter.opts:
            continue
        record = parameter.get_help_record(context)
        name, text = record if record else (parameter.human_readable_name, "")
        yield f"| `{visible(name)}` | {visible(text)} |"


def section(names: list[str], command: Any) -> Iterator[str]:
    """The section of one command, then those of its subcommands."""
    if hasattr(command, "list_commands"):
        context = command.context_class(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if not child.hidden:
                yield from section([*names, name], child)
        return
    yield f"\n## {' '.join(names)}\n"
    yield (command.help or "").split("\f")[0].strip() + "\n"
    rows = list(rows_of(command))
    if rows:
        yield "\n".join(["| argument or option | meaning |", "|---|---|", *rows]) + "\n"


def page() -> str:
    """The whole page."""
    return OPENING + "\n".join(section(["whimbrel"], typer.main.get_command(load_commands())))


def main() -> None:
    """Writes the page, or prints it for comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="print the page instead of writing it")
    if parser.parse_args().print:
        print(page(), end="")
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
