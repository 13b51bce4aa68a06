"""Durations as Spark writes them: ``10 seconds``, ``1 hour 30 minutes``. Everything inside counts milliseconds."""

from __future__ import annotations

import re

from whimbrel.model.errors import BadInput

_UNIT_MS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_UNIT_MS["week"] = 7 * _UNIT_MS["day"]
_SHORT = {"ms": "millisecond", "s": "second", "sec": "second", "min": "minute", "m": "minute", "h": "hour"}
_PART = re.compile(r"\s*(\d+)\s*([a-z]+)\s*")


def duration_ms(text: str) -> int:
    """Milliseconds of a duration. Raises BadInput where it cannot be read, or is not above zero.

    >>> duration_ms("1 hour 30 minutes")
    5400000
    """
    rest = re.sub(r"^\s*interval\s+", "", text.lower())
    total, at = 0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        unit = None if part is None else _unit_of(part.group(2))
        if part is None or unit is None:
            raise BadInput(f"{text!r} is not a duration: write a number and a unit, as in '10 seconds' or '1 hour'")
        total += int(part.group(1)) * unit
        at = part.end()
    if total <= 0:
        raise BadInput(f"{text!r} is an empty duration: it must be above zero")
    return total


def _unit_of(word: str) -> int | None:
    name = _SHORT.get(word, word[:-1] if word.endswith("s") and word not in _SHORT else word)
    return _UNIT_MS.get(name)
