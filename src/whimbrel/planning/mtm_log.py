"""Reading what a slot count was, or what the load was, from a CSV file with one row per interval."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from whimbrel.model import BadInput
from whimbrel.planning.instance import SLOTS_MAX


def read_slot_counts(path: Path, column: str = "nodes") -> tuple[int, ...]:
    """The column of slot counts. Raises BadInput that names the line of the first value that is none."""
    counts = []
    for line, text in _column(path, column):
        value = _number(text, path, line, column)
        if value != int(value) or not 1 <= value <= SLOTS_MAX:
            kind = f"a whole number of at least 1 and at most {SLOTS_MAX}"
            raise BadInput(f"{path} line {line}: {column} is {text}: a slot count is {kind}")
        counts.append(int(value))
    return tuple(counts)


def read_counts(path: Path, column: str) -> tuple[float, ...]:
    """The column of measured load. Raises BadInput that names the line of the first value that is no number."""
    return tuple(_number(text, path, line, column) for line, text in _column(path, column))


def _column(path: Path, column: str) -> list[tuple[int, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as text:
            rows = csv.DictReader(text)
            names = [name.strip() for name in rows.fieldnames or []]
            rows.fieldnames = names
            if column not in names:
                raise BadInput(f"{path} has no column {column!r}: it has {', '.join(names) or 'none'}")
            found = [(rows.line_num, (row[column] or "").strip()) for row in rows]
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise BadInput(f"{path} is a directory: name a CSV file") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path} is not a CSV file: {error}") from None
    if not found:
        raise BadInput(f"{path} has a header and no rows: it needs one row per interval")
    return found


def _number(text: str, path: Path, line: int, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput(f"{path} line {line}: {column} is {text!r}: it must be a number")
    return value
