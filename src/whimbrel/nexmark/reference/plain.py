"""The answers by plain Python over events in order of arrival: slow, obvious, the only one that knows lateness.

The watermark of an epoch is the latest time seen in the epochs before it, less the delay. What it has passed
is closed: a window whose end it has reached, an auction whose expiry it has reached. An event that would
change something closed is late, and changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from whimbrel.nexmark.reference.columns import COLUMNS, RUNNING, changes_of
from whimbrel.nexmark.reference.plain_windows import WINDOWED, Record, Row, Timed, micros, order_of

Event = tuple[str, Record]
_NEVER = float("-inf")
PATIENT = ("q11", "q17")
"""Queries whose operators close after an epoch's rows: a row is late against the watermark of the epoch before."""
_ROWS_READ: dict[str, dict[str, tuple[str, ...]]] = {
    "q4": {"auction": ("id",), "bid": ("auction",)},
    "q5": {"bid": ("auction",)},
    "q6": {"auction": ("id",), "bid": ("auction",)},
    "q7": {"bid": ("price",)},
    "q8": {"person": ("id",), "auction": ("seller",)},
    "q9": {"auction": ("id",), "bid": ("auction",)},
    "q11": {"bid": ("bidder",)},
    "q15": {"bid": ()},
    "q17": {"bid": ("auction",)},
    "q18": {"bid": ("auction", "bidder")},
    "q19": {"bid": ("auction", "price")},
}
"""The rows that a query reads, and the fields without which it does not: only what is read moves the watermark."""


def answer(
    query: str,
    epochs: Iterable[Sequence[Event]],
    *,
    window_ms: int = 10_000,
    slide_ms: int = 5_000,
    ignore_reserve: bool = False,
    delay_ms: int | None = None,
    changes: bool = False,
) -> list[Row]:
    """The rows of a query over ``epochs`` of (kind, record); without a delay nothing is ever late."""
    events = list(_with_watermarks(query, epochs, delay_ms))
    size, slide = window_ms * 1000, slide_ms * 1000
    if query in RUNNING:
        rows = _running(query, events, ignore_reserve)
        last = {row[0]: row[:2] for row in rows}
        return rows if changes else list(last.values())
    if query == "q9":
        return [_won(auction, bid) for auction, bid in _closings(events, ignore_reserve)]
    if query in WINDOWED:
        return list(WINDOWED[query](events, size, slide))
    return [tuple(row[name] for name in changes_of(query)) for row in _RECORDWISE[query](events)]


def _with_watermarks(query: str, epochs: Iterable[Sequence[Event]], delay_ms: int | None) -> Iterator[Timed]:
    read = _ROWS_READ.get(query, {})
    latest = before = _NEVER
    for epoch in epochs:
        watermark = _NEVER if delay_ms is None else latest - delay_ms * 1000
        for kind, record in epoch:
            yield kind, record, before if query in PATIENT else watermark
            is_read = kind in read and None not in [record[name] for name in read[kind]]
            if is_read and record["dateTime"] is not None:
                latest = max(latest, micros(record["dateTime"]))
        before = watermark


def _of(kind: str, events: Iterable[Timed]) -> Iterator[Record]:
    return (record for name, record, _ in events if name == kind)


def _in_euros(events: list[Timed]) -> Iterator[Record]:
    for bid in _of("bid", events):
        yield {**bid, "price": None if bid["price"] is None else bid["price"] * 0.908}


def _every_123rd(events: list[Timed]) -> Iterator[Record]:
    return (bid for bid in _of("bid", events) if bid["auction"] is not None and bid["auction"] % 123 == 0)


def _local_auctions(events: list[Timed]) -> Iterator[Record]:
    people = defaultdict(list)
    for person in _of("person", events):
        if person["id"] is not None and person["state"] in ("OR", "ID", "CA"):
            people[person["id"]].append(person)
    for auction in _of("auction", events):
        if auction["category"] == 10:
            for person in people.get(auction["seller"], []):
                yield {**person, "auction": auction["id"]}


def _with_side_input(events: list[Timed]) -> Iterator[Record]:
    for bid in _of("bid", events):
        if bid["auction"] is not None and (bid["auction"] >= 0 or bid["auction"] % 10_000 == 0):
            yield {**bid, "value": f"value {bid['auction'] % 10_000}"}


def _calculated(events: list[Timed]) -> Iterator[Record]:
    for bid in _in_euros(events):
        if bid["price"] is None or not 1_000_000 < bid["price"] < 50_000_000:
            continue
        hour = 7 if bid["dateTime"] is None else bid["dateTime"].hour
        kind = "dayTime" if 8 <= hour <= 18 else "otherTime" if hour in (7, 19) else "nightTime"
        yield {
            **bid,
            "bid_time_type": kind,
            "c_counts": None if bid["extra"] is None else bid["extra"].count("c"),
        }


def _expanded(events: list[Timed]) -> Iterator[Record]:
    auctions = defaultdict(list)
    for auction in _of("auction", events):
        if auction["category"] == 10:
            auctions[auction["id"]].append(auction)
    for bid in _of("bid", events):
        for auction in [] if bid["auction"] is None else auctions[bid["auction"]]:
            theirs = {f"auction_{name}": auction[name] for name in ("dateTime", "extra")}
            mine = {f"bid_{name}": bid[name] for name in ("dateTime", "extra")}
            yield {**auction, **bid, **theirs, **mine}


def _running(query: str, events: list[Timed], ignore_reserve: bool) -> list[Row]:
    key = COLUMNS[query][0]
    seen: dict[Any, list[int]] = defaultdict(list)
    rows = []
    for auction, bid in _closings(events, ignore_reserve):
        if auction[key] is None:
            continue
        prices = seen[auction[key]]
        prices.append(bid["price"])
        counted = prices[-10:] if query == "q6" else prices
        rows.append((auction[key], sum(counted) / len(counted), len(prices)))
    return rows


def _won(auction: Record, bid: Record) -> Row:
    return (*auction.values(), *(bid[name] for name in ("auction", "bidder", "price", "dateTime", "extra")))


def _closings(events: list[Timed], ignore_reserve: bool) -> list[tuple[Record, Record]]:
    """Every auction that found a price, with its winning bid, in the order in which they close."""
    bids = defaultdict(list)
    for kind, bid, watermark in events:
        if kind == "bid" and bid["auction"] is not None and None not in (bid["price"], bid["dateTime"]):
            bids[bid["auction"]].append((bid, watermark))
    closed = []
    for arrival, (kind, auction, late) in enumerate(events):
        if kind != "auction" or auction["expires"] is None or micros(auction["expires"]) <= late:
            continue
        valid = [bid for bid, watermark in bids[auction["id"]] if _counts(bid, auction, watermark, ignore_reserve)]
        if valid:
            closed.append((auction["expires"], auction["id"], arrival, auction, min(valid, key=order_of)))
    return [(auction, bid) for *_, auction, bid in sorted(closed, key=lambda each: each[:3])]


def _counts(bid: Record, auction: Record, watermark: float, ignore_reserve: bool) -> bool:
    if bid["dateTime"] >= auction["expires"] or micros(auction["expires"]) <= watermark:
        return False
    return ignore_reserve or (auction["reserve"] is not None and bid["price"] >= auction["reserve"])


_RECORDWISE: dict[str, Callable[[list[Timed]], Iterator[Record]]] = {
    "q0": lambda events: _of("bid", events),
    "q1": _in_euros,
    "q2": _every_123rd,
    "q3": _local_auctions,
    "q13": _with_side_input,
    "q14": _calculated,
    "q20": _expanded,
}
