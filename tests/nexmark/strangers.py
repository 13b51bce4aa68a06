"""Events as Hypothesis draws them: few ids, tied times and prices, nulls anywhere, and every spelling that JSON allows."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

from hypothesis import strategies as st

from whimbrel.nexmark.events.schema import KINDS, TIME

BASE = datetime(2021, 3, 28, 7, 59, 58, tzinfo=timezone.utc)
TEXT = st.one_of(
    st.sampled_from(["OR", "ID", "CA", "WA", "", "cc", 'a "b"\\ \n', "naïve 日本 🐦"]), st.text(max_size=4)
)
INSTANT = st.integers(0, 12_000).map(lambda ms: BASE + timedelta(milliseconds=ms - ms % 250))
PRICE = st.sampled_from([1, 2, 9_999, 10_000, 999_999, 1_000_000, 1_101_322, 55_066_079, 55_066_080])
NUMBERS = {
    "id": st.integers(0, 6),
    "auction": st.sampled_from([0, 1, 2, 3, 4, 5, 6, 123, -123, 10_001]),
    "bidder": st.integers(0, 2),
    "seller": st.integers(0, 6),
    "category": st.sampled_from([10, 10, 11]),
    "price": PRICE,
    "reserve": PRICE,
    "initialBid": PRICE,
}


@st.composite
def events(draw):
    """(kind, record) in order of arrival; ids of people and of auctions are unique."""
    found, seen = [], set()
    for kind in draw(
        st.lists(st.sampled_from(["person", "auction", "auction", "bid", "bid", "bid", "bid"]), max_size=40)
    ):
        record = {field.name: draw(_value(field)) for field in KINDS[kind]}
        if record.get("id") is not None and (kind, record["id"]) in seen:
            record["id"] = 100 + len(found)
        seen.add((kind, record.get("id")))
        found.append((kind, record))
    return found


def _value(field):
    value = INSTANT if field.type == TIME else NUMBERS.get(field.name, TEXT)
    return st.one_of(value, value, value, value, value, value, st.none())


@st.composite
def lines(draw, happened):
    """The events as JSON lines: fields in any order, strangers among them, nulls left out, instants in any form."""
    out = []
    for kind, record in happened:
        fields = [(name, draw(_spelling(value))) for name, value in record.items()]
        fields = [pair for pair in fields if pair[1] is not None or draw(st.booleans())]
        fields += draw(st.sampled_from([[], [("channel", "web")], [("dateTime2", 5), ("tags", [1, {"a": None}])]]))
        whole = [(kind, dict(draw(st.permutations(fields))))]
        whole += draw(st.sampled_from([[], [("event_type", 2)], [(each, None) for each in KINDS if each != kind]]))
        out.append(json.dumps(dict(draw(st.permutations(whole))), ensure_ascii=draw(st.booleans())))
        out += draw(st.sampled_from([[], [], [], [""], ["  "]]))
    return draw(st.sampled_from(["\n", "\r\n"])).join(out) + draw(st.sampled_from(["", "\n"]))


def _spelling(value):
    if isinstance(value, int):
        return st.sampled_from([value, float(value)])
    if not isinstance(value, datetime):
        return st.just(value)
    elsewhere = value.astimezone(timezone(timedelta(hours=-7, minutes=-30)))
    utc = value.replace(tzinfo=None)
    milliseconds = round(value.timestamp() * 1000)
    return st.sampled_from(
        [milliseconds, float(milliseconds), elsewhere.isoformat(), utc.isoformat(), f"{utc.isoformat(' ')}Z"]
    )
