"""Commands of the nexmark group."""

import typer


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
