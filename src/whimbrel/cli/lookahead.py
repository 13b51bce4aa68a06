"""Commands of the lookahead group."""

import typer


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
