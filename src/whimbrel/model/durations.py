"""Durations as Spark users write them."""

from __future__ import annotations

import re

from whimbrel.model.errors import BadInput

_UNITS_MS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+?)s?(?=$|[\s\d])", re.IGNORECASE)
_SHORT = {"ms": "millisecond", "sec": "second", "min": "minute"}


def milliseconds(duration: str | float) -> int:
    """Milliseconds of "10 seconds", "1 hour 30 minutes", "INTERVAL 5 MINUTES"; a bare number is milliseconds already.

    >>> milliseconds("1 minute 30 seconds")
    90000
    """
    if not isinstance(duration, str):
        return int(duration)
    text = re.sub(r"^\s*interval\s+", "", duration, flags=re.IGNORECASE).strip()
    parts = _PART.findall(text)
    rest = _PART.sub("", text).strip()
    if not parts or rest:
        raise BadInput(f"{duration!r} is no duration: write it like '10 seconds' or '1 hour 30 minutes'")
    return round(sum(float(number) * _unit_ms(unit.lower(), duration) for number, unit in parts))


def _unit_ms(unit: str, duration: str) -> int:
    name = _SHORT.get(unit, unit)
    if name not in _UNITS_MS:
        raise BadInput(f"{duration!r} has the unit {unit!r}: use milliseconds, seconds, minutes, hours, days or weeks")
    return _UNITS_MS[name]
