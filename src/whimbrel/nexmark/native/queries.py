"""Every native query by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.native import (
    q0,
    q1,
    q2,
    q3,
    q4,
    q5,
    q6,
    q7,
    q8,
    q9,
    q11,
    q13,
    q14,
    q15,
    q17,
    q18,
    q19,
    q20,
)
from whimbrel.nexmark.settings import Settings, settings_of
from whimbrel.nexmark.streams import Streams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NATIVE: dict[str, Callable[[Streams, Settings], DataFrame]] = {
    "q0": q0.query,
    "q1": q1.query,
    "q2": q2.query,
    "q3": q3.query,
    "q4": q4.query,
    "q5": q5.query,
    "q6": q6.query,
    "q7": q7.query,
    "q8": q8.query,
    "q9": q9.query,
    "q11": q11.query,
    "q13": q13.query,
    "q14": q14.query,
    "q15": q15.query,
    "q17": q17.query,
    "q18": q18.query,
    "q19": q19.query,
    "q20": q20.query,
}
"""From a query's name to its native form."""


def native_query(name: str, streams: Streams, settings: Settings | None = None) -> DataFrame:
    """The native form over these streams. Raises BadInput for a query that has none."""
    if name not in NATIVE:
        raise BadInput(f"there is no native form of {name!r}: there are {', '.join(NATIVE)}")
    return NATIVE[name](streams, settings or settings_of(name))
