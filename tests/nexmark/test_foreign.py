"""Events of other origin: whatever a stranger writes is read as meant, and every query answers as the references do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.nexmark import strangers
from tests.nexmark.comparing import assert_same, from_arrow, multiset
from tests.nexmark.in_memory import answer
from tests.nexmark.scenarios import as_json_lines, foreign, tables, unwrapped

from whimbrel.model import BadInput
from whimbrel.nexmark.arrivals import lateness_ms, read_events
from whimbrel.nexmark.queries import MIGRATABLE, TIMED
from whimbrel.nexmark.reference import changes_of, duckdb_answer, plain_answer
from whimbrel.nexmark.settings import Settings

EVENTS = foreign(300, seed=14)
WINDOWS = {"window_ms": 2_000, "slide_ms": 1_000}
QUICKLY = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def as_read(text):
    """The events of one file with this text."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "events.jsonl").write_bytes(text.encode())
        return read_events(Path(folder))


@settings(QUICKLY, max_examples=60)
@given(st.data())
def test_every_spelling_of_an_event_is_read_as_meant(data):
    happened = data.draw(strangers.events())
    assert unwrapped(as_read(data.draw(strangers.lines(happened)))) == happened


@pytest.mark.parametrize("query", MIGRATABLE)
@settings(QUICKLY, max_examples=4)
@given(st.data())
def test_a_strangers_events_are_answered_as_by_both_references(query, data):
    check_one(query, data)


@pytest.mark.slow
@pytest.mark.parametrize("query", MIGRATABLE)
@settings(QUICKLY, max_examples=60)
@given(st.data())
def test_many_strangers_events_are_answered_as_by_both_references(query, data):
    check_one(query, data)


def check_one(query, data):
    happened = data.draw(strangers.events())
    assume(happened)
    rows = as_read(data.draw(strangers.lines(happened)))
    ignore = data.draw(st.booleans())
    wanted = multiset(plain_answer(query, [happened], **WINDOWS, ignore_reserve=ignore, changes=True))
    batch = duckdb_answer(query, *tables(happened).values(), **WINDOWS, ignore_reserve=ignore, changes=True)
    assert_same(from_arrow(batch), wanted, f"{query} by DuckDB")
    epochs = _cut(unwrapped(rows), data.draw(st.lists(st.integers(0, len(happened)), max_size=3)))
    given_settings = Settings(**WINDOWS, ignore_reserve=ignore, delay_ms=lateness_ms(rows))
    found = answer(query, epochs, given_settings, seed=len(happened))
    assert found.column_names == list(changes_of(query))
    assert_same(from_arrow(found), wanted, query)


@pytest.mark.parametrize("query", TIMED)
@settings(QUICKLY, max_examples=4)
@given(st.data())
def test_late_events_change_nothing_whatever_the_delay(query, data):
    happened = data.draw(strangers.events())
    epochs = _cut(happened, data.draw(st.lists(st.integers(0, len(happened)), min_size=2, max_size=5)))
    delay_ms = data.draw(st.sampled_from([0, 250, 3_000]))
    found = answer(query, epochs, Settings(**WINDOWS, delay_ms=delay_ms))
    wanted = plain_answer(query, epochs, **WINDOWS, delay_ms=delay_ms, changes=True)
    assert_same(from_arrow(found), multiset(wanted), query)


def _cut(happened, edges):
    edges = [0, *sorted(edges), len(happened)]
    return [happened[low:high] for low, high in zip(edges, edges[1:])]


@pytest.mark.parametrize("ending", [".jsonl.gz", ".json.gz", ".ndjson", ".json"])
def test_files_may_be_compressed_and_named_as_is_usual(tmp_path, ending):
    text = as_json_lines(EVENTS).encode()
    (tmp_path / f"e{ending}").write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    assert unwrapped(read_events(tmp_path)) == EVENTS


def test_a_byte_order_mark_is_no_character(tmp_path):
    (tmp_path / "e.jsonl").write_bytes(b"\xef\xbb\xbf" + as_json_lines(EVENTS).encode())
    assert unwrapped(read_events(tmp_path)) == EVENTS


def test_what_other_programs_leave_beside_their_files_is_not_read(tmp_path):
    (tmp_path / "part-0.json").write_text(as_json_lines(EVENTS))
    (tmp_path / ".part-0.json.crc").write_bytes(b"crc\x00\xff")
    (tmp_path / "_SUCCESS").write_text("")
    assert unwrapped(read_events(tmp_path)) == EVENTS


def test_files_are_read_in_the_order_of_their_names_and_may_be_empty(tmp_path):
    for name, part in (("a", EVENTS[:100]), ("b", []), ("c", EVENTS[100:])):
        (tmp_path / f"{name}.jsonl").write_text(as_json_lines(part) if part else "")
    assert unwrapped(read_events(tmp_path)) == EVENTS


def test_a_folder_of_a_kind_may_be_missing_and_its_records_wrapped_or_bare(tmp_path):
    bids = [record for kind, record in EVENTS if kind == "bid" and record["dateTime"] is not None]
    bids.sort(key=lambda record: record["dateTime"])
    (tmp_path / "bid").mkdir()
    plain = [{name: str(value) if name == "dateTime" else value for name, value in bid.items()} for bid in bids]
    written = [{"bid": each} if number % 2 else each for number, each in enumerate(plain)]
    (tmp_path / "bid" / "e.jsonl").write_text("\n".join(map(json.dumps, written)))
    assert unwrapped(read_events(tmp_path)) == [("bid", bid) for bid in bids]


@pytest.mark.parametrize(
    ("line", "lesson"),
    [
        ('{"bid": {"price": true}}', "line 4: price is True, where a whole number"),
        ('{"bid": {"price": "5"}}', "line 4: price is '5'"),
        ('{"bid": {"price": [5]}}', r"line 4: price is \[5\]"),
        ('{"bid": {"price": Infinity}}', "line 4: price is inf"),
        ('{"bid": {"price": NaN}}', "line 4: price is nan"),
        ('{"bid": {"extra": "\\ud83d"}}', "line 4: extra has half of a surrogate pair"),
        ('{"bid": {"dateTime": 99999999999999999}}', "line 4: dateTime is 9+: write ISO"),
        ('{"bid": {"dateTime": -1}}', "line 4: dateTime is in 1969"),
        ('{"bid": {"dateTime": "2100-01-01"}}', "line 4: dateTime is in 2100"),
        ('{"bid": {"dateTime": true}}', "line 4: dateTime is True"),
        ('{"auction": {"expires": ""}}', "line 4: expires is ''"),
        ('{"bid": 5}', "line 4: needs exactly one"),
        ('{"bid": null}', "line 4: needs exactly one"),
        ("{}", "line 4: needs exactly one"),
        ('{"bid": {"auction": 1}', "line 4: not JSON"),
        ("[" * 100_000, "line 4: "),
    ],
)
def test_a_fault_is_named_by_file_and_line(tmp_path, line, lesson):
    (tmp_path / "stranger.jsonl").write_text(as_json_lines(EVENTS[:3]) + line + "\n")
    with pytest.raises(BadInput, match=f"stranger.jsonl, {lesson}"):
        read_events(tmp_path)


@pytest.mark.parametrize("content", [b"plain", gzip.compress(b'{"bid": {}}')[:-6]])
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, content):
    (tmp_path / "e.jsonl.gz").write_bytes(content)
    with pytest.raises(BadInput, match="damaged, or not compressed"):
        read_events(tmp_path)


def test_an_auction_that_never_ends_closes_with_the_input():
    bid = {"auction": 1, "bidder": 2, "price": 9, "dateTime": strangers.BASE, "extra": None}
    auction = {"id": 1, "category": 10, "reserve": 1, "seller": 3, "dateTime": strangers.BASE}
    auction = {**dict.fromkeys(tables([])["auction"].column_names), **auction}
    auction["expires"] = strangers.BASE.replace(year=9999)
    for query in ("q4", "q9"):
        found = answer(query, [[("auction", auction), ("bid", bid)]], Settings(delay_ms=10**12))
        assert found.num_rows == 1, query
