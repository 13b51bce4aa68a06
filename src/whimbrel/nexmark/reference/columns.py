"""What each query answers: the names of its columns, in their order."""

from __future__ import annotations

from whimbrel.model.errors import BadInput

_BID = ("auction", "bidder", "price", "dateTime", "extra")
_PERSON = ("id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra")

COLUMNS: dict[str, tuple[str, ...]] = {
    "q0": _BID,
    "q1": _BID,
    "q2": _BID,
    "q3": ("name", "city", "state", "auction"),
    "q4": ("category", "average"),
    "q5": ("window_start", "window_end", "auction", "bids"),
    "q6": ("seller", "average"),
    "q7": _BID,
    "q8": _PERSON,
}
QUERIES = tuple(COLUMNS)
RUNNING = ("q4", "q6")
"""Queries whose answer is a running one: a row per key that each closed auction replaces."""


def changes_of(query: str) -> tuple[str, ...]:
    """The columns of the query's stream of changes: ``auctions`` counts the closings behind a running average."""
    if query not in COLUMNS:
        raise BadInput(f"there is no query {query!r}: use one of {', '.join(QUERIES)}")
    return (*COLUMNS[query], "auctions") if query in RUNNING else COLUMNS[query]
