"""How every command reads its input and prints its answer: one JSON object, or a table for people."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import typer

from whimbrel.model.errors import BadInput

INFEASIBLE = 3
"""Exit code of a correct "it cannot be done"."""


def read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; BadInput names the file and the place of the fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise BadInput(f"{path} is a directory: name a JSON file") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text: name a JSON file") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"{path} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise BadInput(f"{path} is not JSON that can be read: its brackets are nested too deeply") from None
    except ValueError as error:
        raise BadInput(f"{path} is not JSON that can be read: {str(error).split(';')[0].lower()}") from None
    if not isinstance(value, dict):
        raise BadInput(f"{path} holds a JSON {type(value).__name__}: an object is needed")
    return value


def print_json(answer: dict[str, Any]) -> None:
    """One JSON object on standard output, and nothing else there."""
    sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")


def writable_folder(path: Path) -> Path:
    """Makes the folder of a command's files before the work begins; BadInput where that cannot be.

    A run of minutes must not end in a folder that never could be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"--out {path}: this folder cannot be made: {reason}") from None
    if not os.access(path, os.W_OK):
        raise BadInput(f"--out {path}: this folder cannot be written to")
    return path


def writable_file(option: str, path: Path) -> Path:
    """The path of a file that a command will write; BadInput before the work begins where that cannot be."""
    folder = path.parent
    if not folder.is_dir():
        raise BadInput(f"{option} {path} cannot be written: there is no folder {folder}")
    if path.is_dir():
        raise BadInput(f"{option} {path} cannot be written: it is a folder; name a file")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise BadInput(f"{option} {path} cannot be written: permission denied")
    return path


def note(message: str) -> None:
    """Progress and remarks go to standard error, so that standard output stays machine-readable."""
    typer.echo(message, err=True)
