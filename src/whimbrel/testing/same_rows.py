"""Two multisets of rows compared, and told side by side where they differ. The order of rows is no matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

ROWS_SHOWN = 12
"""How many differing rows are shown on each side."""


def differing_rows(found: Iterable[Any], expected: Iterable[Any]) -> tuple[list[str], list[str]]:
    """The rows, as text, that only the one side has, and those that only the other has; repeated as often as they differ.

    >>> differing_rows([1, 2, 2], [2, 3])
    (['1', '2'], ['3'])
    """
    ours, theirs = Counter(map(repr, found)), Counter(map(repr, expected))
    return sorted((ours - theirs).elements()), sorted((theirs - ours).elements())


def assert_same_rows(found: Iterable[Any], expected: Iterable[Any]) -> None:
    """AssertionError with a table of two columns where the multisets differ."""
    ours, theirs = differing_rows(found, expected)
    if ours or theirs:
        raise AssertionError(_table(ours, theirs))


def _table(ours: list[str], theirs: list[str]) -> str:
    width = max(map(len, ["found only", *ours[:ROWS_SHOWN]]))
    pairs = zip_longest(["found only", *ours[:ROWS_SHOWN]], ["expected only", *theirs[:ROWS_SHOWN]], fillvalue="")
    lines = [f"{left:<{width}} | {right}" for left, right in pairs]
    return f"{len(ours)} rows too many, {len(theirs)} missing\n" + "\n".join(lines)
