"""The plain answers of the queries that divide time: windows of a fixed size, and sessions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from whimbrel.nexmark.reference.columns import COLUMNS

Record = dict[str, Any]
Timed = tuple[str, Record, float]
"""A kind, a record, and the watermark against which the record may be late."""
Row = tuple[Any, ...]
_START = datetime(1970, 1, 1, tzinfo=timezone.utc)
_BID = ("auction", "bidder", "price", "dateTime", "extra")


def micros(instant: datetime) -> int:
    """Microseconds since 1970."""
    return (instant - _START) // timedelta(microseconds=1)


def order_of(bid: Record) -> tuple[Any, ...]:
    """The highest price first, then the earliest bid; bidder and padding decide the rest, without a value last."""
    bidder, extra = bid["bidder"], bid["extra"]
    return -bid["price"], bid["dateTime"], bidder is None, bidder or 0, extra is None, extra or ""


def _instants(start: int, size: int) -> tuple[datetime, datetime]:
    return _START + timedelta(microseconds=start), _START + timedelta(microseconds=start + size)


def _starts(instant: datetime, size: int, slide: int) -> Iterator[int]:
    at = micros(instant)
    start = at - at % slide
    while start > at - size:
        yield start
        start -= slide


def _timely(
    events: list[Timed], kind: str, needed: tuple[str, ...], size: int, slide: int
) -> Iterator[tuple[int, Record]]:
    """Each window of each record that has these fields and a time, unless the window has closed."""
    for name, record, watermark in events:
        if name == kind and None not in [record[field] for field in (*needed, "dateTime")]:
            for start in _starts(record["dateTime"], size, slide):
                if start + size > watermark:
                    yield start, record


def _grouped(
    events: list[Timed], needed: tuple[str, ...], size: int, by: tuple[str, ...] = ()
) -> dict[tuple[Any, ...], list[Record]]:
    groups = defaultdict(list)
    for start, bid in _timely(events, "bid", needed, size, size):
        group = (start, *(bid[name] for name in by))
        groups[group].append(bid)
    return groups


def _hottest(events: list[Timed], size: int, slide: int) -> Iterator[Row]:
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for start, bid in _timely(events, "bid", ("auction",), size, slide):
        counts[start][bid["auction"]] += 1
    for start, auctions in counts.items():
        most = max(auctions.values())
        yield from ((*_instants(start, size), auction, bids) for auction, bids in auctions.items() if bids == most)


def _highest(events: list[Timed], size: int, _slide: int) -> Iterator[Row]:
    for bids in _grouped(events, ("price",), size).values():
        top = max(bid["price"] for bid in bids)
        yield from (tuple(bid[name] for name in _BID) for bid in bids if bid["price"] == top)


def _new_sellers(events: list[Timed], size: int, _slide: int) -> Iterator[Row]:
    sellers = {(start, each["seller"]) for start, each in _timely(events, "auction", ("seller",), size, size)}
    for start, person in _timely(events, "person", ("id",), size, size):
        if (start, person["id"]) in sellers:
            yield tuple(person[name] for name in COLUMNS["q8"])


def _sessions(events: list[Timed], gap: int, _slide: int) -> Iterator[Row]:
    """Open sessions are [start, end, bids] per bidder; those that the watermark has reached leave before the next row."""
    sessions: dict[int, list[list[int]]] = defaultdict(list)
    reached = float("-inf")
    for kind, bid, watermark in events:
        if watermark > reached:
            reached = watermark
            yield from _left(sessions, reached)
        if kind != "bid" or None in (bid["bidder"], bid["dateTime"]) or micros(bid["dateTime"]) + gap <= watermark:
            continue
        at = micros(bid["dateTime"])
        near = [each for each in sessions[bid["bidder"]] if each[0] <= at + gap and at <= each[1]]
        joined = [min([at, *(e[0] for e in near)]), max([at + gap, *(e[1] for e in near)]), 1 + sum(e[2] for e in near)]
        sessions[bid["bidder"]] = [each for each in sessions[bid["bidder"]] if each not in near] + [joined]
    yield from _left(sessions, float("inf"))


def _left(sessions: dict[int, list[list[int]]], reached: float) -> Iterator[Row]:
    for bidder, spans in sessions.items():
        for start, end, bids in [each for each in spans if each[1] <= reached]:
            spans.remove([start, end, bids])
            yield bidder, bids, *_instants(start, end - start)


def _levels(bids: list[Record]) -> list[list[Record]]:
    """All of them, then those of each level of price."""
    priced = [bid for bid in bids if bid["price"] is not None]
    low, high = (lambda price: price < 10_000), (lambda price: price >= 1_000_000)
    middle = [bid for bid in priced if not low(bid["price"]) and not high(bid["price"])]
    return [bids, [b for b in priced if low(b["price"])], middle, [b for b in priced if high(b["price"])]]


def _bidding(events: list[Timed], size: int, _slide: int) -> Iterator[Row]:
    for (start,), bids in _grouped(events, (), size).items():
        levels = _levels(bids)
        members = [[len({bid[who] for bid in level} - {None}) for level in levels] for who in ("bidder", "auction")]
        yield (*_instants(start, size), *map(len, levels), *members[0], *members[1])


def _auctions(events: list[Timed], size: int, _slide: int) -> Iterator[Row]:
    for (start, auction), bids in _grouped(events, ("auction",), size, ("auction",)).items():
        prices = [bid["price"] for bid in bids if bid["price"] is not None]
        statistics = (min(prices), max(prices), sum(prices) / len(prices), sum(prices)) if prices else (None,) * 4
        yield (*_instants(start, size), auction, *map(len, _levels(bids)), *statistics)


def _last_bids(events: list[Timed], size: int, _slide: int) -> Iterator[Row]:
    def order(bid: Record) -> tuple[Any, ...]:
        price, extra = bid["price"], bid["extra"]
        return bid["dateTime"], price is not None, price or 0, extra is not None, extra or ""

    for bids in _grouped(events, ("auction", "bidder"), size, ("auction", "bidder")).values():
        last = max(bids, key=order)
        yield tuple(last[name] for name in _BID)


def _top_ten(events: list[Timed], size: int, _slide: int) -> Iterator[Row]:
    for bids in _grouped(events, ("auction", "price"), size, ("auction",)).values():
        for rank, bid in enumerate(sorted(bids, key=order_of)[:10], 1):
            yield (*(bid[name] for name in _BID), rank)


WINDOWED: dict[str, Callable[[list[Timed], int, int], Iterator[Row]]] = {
    "q5": _hottest,
    "q7": _highest,
    "q8": _new_sellers,
    "q11": _sessions,
    "q15": _bidding,
    "q17": _auctions,
    "q18": _last_bids,
    "q19": _top_ten,
}
"""From a query's name to its rows, given the events, the window and the slide in microseconds."""
