"""What each query answers: the names of its columns, in their order."""

from __future__ import annotations

from whimbrel.model.errors import BadInput

_BID = ("auction", "bidder", "price", "dateTime", "extra")
_AUCTION = (
    "id", "itemName", "description", "initialBid", "reserve", "dateTime", "expires", "seller", "category", "extra",
)  # fmt: skip
_LEVELS = ("total", "rank1", "rank2", "rank3")
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
    "q9": (*_AUCTION, "auction", "bidder", "price", "bid_dateTime", "bid_extra"),
    "q11": ("bidder", "bids", "session_start", "session_end"),
    "q13": ("auction", "bidder", "price", "dateTime", "value"),
    "q14": ("auction", "bidder", "price", "bid_time_type", "dateTime", "extra", "c_counts"),
    "q15": (
        "window_start",
        "window_end",
        *(f"{level}_{what}" for what in ("bids", "bidders", "auctions") for level in _LEVELS),
    ),
    "q17": (
        "window_start",
        "window_end",
        "auction",
        *(f"{level}_bids" for level in _LEVELS),
        *(f"{kind}_price" for kind in ("min", "max", "avg", "sum")),
    ),
    "q18": _BID,
    "q19": (*_BID, "rank"),
    "q20": (
        "auction",
        "bidder",
        "price",
        "bid_dateTime",
        "bid_extra",
        *("auction_" + name if name in ("dateTime", "extra") else name for name in _AUCTION[1:]),
    ),
}
QUERIES = tuple(COLUMNS)
RUNNING = ("q4", "q6")
"""Queries whose answer is a running one: a row per key that each closed auction replaces."""


def changes_of(query: str) -> tuple[str, ...]:
    """The columns of the query's stream of changes: ``auctions`` counts the closings behind a running average."""
    if query not in COLUMNS:
        raise BadInput(f"there is no query {query!r}: use one of {', '.join(QUERIES)}")
    return (*COLUMNS[query], "auctions") if query in RUNNING else COLUMNS[query]
