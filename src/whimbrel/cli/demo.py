"""Commands of the demo group."""

import typer


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
