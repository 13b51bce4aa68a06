"""The answers by plain Python over events in order of arrival: slow, obvious, the only one that knows lateness.

The watermark of an epoch is the latest time seen in the epochs before it, less the delay. What it has passed
is closed: a window whose end it has reached, an auction whose expiry it has reached. An event that would
change something closed is late, and changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from whimbrel.nexmark.reference.columns import COLUMNS, RUNNING, changes_of

Record = dict[str, Any]
Event = tuple[str, Record]
Timed = tuple[str, Record, float]
Row = tuple[Any, ...]
_NEVER = float("-inf")
_START = datetime(1970, 1, 1, tzinfo=timezone.utc)


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
    events = list(_with_watermarks(epochs, delay_ms, _READ.get(query)))
    size, slide = window_ms * 1000, slide_ms * 1000
    if query in RUNNING:
        rows = _running(query, events, ignore_reserve)
        last = {row[0]: row[:2] for row in rows}
        return rows if changes else list(last.values())
    if query in ("q5", "q7", "q8"):
        return list(_WINDOWED[query](events, size, slide))
    return [tuple(row[name] for name in changes_of(query)) for row in _RECORDWISE[query](events)]


def micros(instant: datetime) -> int:
    """Microseconds since 1970."""
    return (instant - _START) // timedelta(microseconds=1)


_READ = {"q5": "auction", "q7": "price"}
"""Queries that read bids alone, and the field without which a bid is not read: only what is read moves the watermark."""


def _with_watermarks(epochs: Iterable[Sequence[Event]], delay_ms: int | None, needed: str | None) -> Iterator[Timed]:
    latest = _NEVER
    for epoch in epochs:
        watermark = _NEVER if delay_ms is None else latest - delay_ms * 1000
        for kind, record in epoch:
            yield kind, record, watermark
            is_read = needed is None or (kind == "bid" and record[needed] is not None)
            if is_read and record["dateTime"] is not None:
                latest = max(latest, micros(record["dateTime"]))


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


def _running(query: str, events: list[Timed], ignore_reserve: bool) -> list[Row]:
    key = COLUMNS[query][0]
    seen: dict[Any, list[int]] = defaultdict(list)
    rows = []
    for auction, final in _closings(events, ignore_reserve):
        if auction[key] is None:
            continue
        prices = seen[auction[key]]
        prices.append(final)
        counted = prices[-10:] if query == "q6" else prices
        rows.append((auction[key], sum(counted) / len(counted), len(prices)))
    return rows


def _closings(events: list[Timed], ignore_reserve: bool) -> list[tuple[Record, int]]:
    """Every auction that found a price, with it, in the order in which they close."""
    bids = defaultdict(list)
    for kind, bid, watermark in events:
        if kind == "bid" and bid["auction"] is not None and None not in (bid["price"], bid["dateTime"]):
            bids[bid["auction"]].append((bid, watermark))
    closed = []
    for arrival, (kind, auction, late) in enumerate(events):
        if kind != "auction" or auction["expires"] is None or micros(auction["expires"]) <= late:
            continue
        prices = [
            bid["price"] for bid, watermark in bids[auction["id"]] if _counts(bid, auction, watermark, ignore_reserve)
        ]
        if prices:
            closed.append((auction["expires"], auction["id"], arrival, auction, max(prices)))
    return [(auction, final) for *_, auction, final in sorted(closed, key=lambda each: each[:3])]


def _counts(bid: Record, auction: Record, watermark: float, ignore_reserve: bool) -> bool:
    if bid["dateTime"] >= auction["expires"] or micros(auction["expires"]) <= watermark:
        return False
    return ignore_reserve or (auction["reserve"] is not None and bid["price"] >= auction["reserve"])


def _starts(instant: datetime, size: int, slide: int) -> Iterator[int]:
    at = micros(instant)
    start = at - at % slide
    while start > at - size:
        yield start
        start -= slide


def _hottest(events: list[Timed], size: int, slide: int) -> Iterator[Row]:
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for kind, bid, watermark in events:
        if kind == "bid" and bid["auction"] is not None and bid["dateTime"] is not None:
            for start in _starts(bid["dateTime"], size, slide):
                if start + size > watermark:
                    counts[start][bid["auction"]] += 1
    for start, auctions in counts.items():
        most = max(auctions.values())
        edges = (_START + timedelta(microseconds=start), _START + timedelta(microseconds=start + size))
        yield from ((*edges, auction, bids) for auction, bids in auctions.items() if bids == most)


def _highest(events: list[Timed], size: int, _slide: int) -> Iterator[Row]:
    windows = defaultdict(list)
    for kind, bid, watermark in events:
        if kind == "bid" and bid["price"] is not None and bid["dateTime"] is not None:
            (start,) = _starts(bid["dateTime"], size, size)
            if start + size > watermark:
                windows[start].append(bid)
    for bids in windows.values():
        top = max(bid["price"] for bid in bids)
        yield from (tuple(bid[name] for name in COLUMNS["q7"]) for bid in bids if bid["price"] == top)


def _new_sellers(events: list[Timed], size: int, _slide: int) -> Iterator[Row]:
    def timely(kind: str, key: str) -> Iterator[tuple[Record, tuple[Any, int]]]:
        for name, record, watermark in events:
            if name == kind and record[key] is not None and record["dateTime"] is not None:
                (start,) = _starts(record["dateTime"], size, size)
                if start + size > watermark:
                    yield record, (record[key], start)

    sellers = {place for _, place in timely("auction", "seller")}
    for person, place in timely("person", "id"):
        if place in sellers:
            yield tuple(person[name] for name in COLUMNS["q8"])


_RECORDWISE: dict[str, Callable[[list[Timed]], Iterator[Record]]] = {
    "q0": lambda events: _of("bid", events),
    "q1": _in_euros,
    "q2": _every_123rd,
    "q3": _local_auctions,
}
_WINDOWED: dict[str, Callable[[list[Timed], int, int], Iterator[Row]]] = {
    "q5": _hottest,
    "q7": _highest,
    "q8": _new_sellers,
}
