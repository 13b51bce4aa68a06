"""Three answers, written independently, agree: on the generator's events and on a stranger's."""

from __future__ import annotations

import pytest
from tests.nexmark.comparing import assert_same, from_arrow, multiset
from tests.nexmark.scenarios import foreign, generated, tables

from whimbrel.nexmark.reference import COLUMNS, QUERIES, changes_of, duckdb_answer, plain_answer, spark_answer

STREAMS = {"generated": generated(12_000), "foreign": foreign(2_500, seed=4), "nothing": []}
OPTIONS = [
    {},
    {"ignore_reserve": True, "changes": True},
    {"window_ms": 700, "slide_ms": 300, "changes": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=["defaults", "no reserve", "odd windows"])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("query", QUERIES)
def test_duckdb_and_plain_python_agree(query, stream, options):
    events = STREAMS[stream]
    found = duckdb_answer(query, *tables(events).values(), **options)
    assert found.column_names == list(changes_of(query) if options.get("changes") else COLUMNS[query])
    wanted = multiset(plain_answer(query, [events], **options))
    assert bool(wanted) == (stream != "nothing")
    assert_same(from_arrow(found), wanted, query)


@pytest.fixture(scope="module")
def frames(spark):
    return {
        name: [spark.createDataFrame(table) for table in tables(events).values()] for name, events in STREAMS.items()
    }


@pytest.mark.parametrize("stream", ["generated", "foreign"])
@pytest.mark.parametrize("query", QUERIES)
def test_spark_sql_and_plain_python_agree(spark, frames, query, stream):
    options = {"window_ms": 700, "slide_ms": 300} if stream == "foreign" else {"changes": True}
    found = spark_answer(spark, query, *frames[stream], **options)
    wanted = multiset(plain_answer(query, [STREAMS[stream]], **options))
    assert_same(multiset(map(tuple, found.collect())), wanted, query)


def test_the_last_change_of_a_running_answer_is_the_answer():
    events = STREAMS["foreign"]
    for query in ("q4", "q6"):
        changes = plain_answer(query, [events], changes=True)
        last = {row[0]: row[:2] for row in sorted(changes, key=lambda row: row[2])}
        assert_same(multiset(last.values()), multiset(plain_answer(query, [events])), query)


def test_ties_share_the_top():
    bids = [("bid", {**bid, "price": 7}) for kind, bid in STREAMS["foreign"] if kind == "bid" and bid["dateTime"]][:60]
    assert len(plain_answer("q7", [bids])) == 60
    assert duckdb_answer("q7", *tables(bids).values()).num_rows == 60


def test_a_late_bid_changes_nothing_once_its_window_has_closed():
    events = STREAMS["foreign"]
    epochs = [events[start : start + 200] for start in range(0, len(events), 200)]
    patient = plain_answer("q7", epochs, delay_ms=10_000_000, window_ms=2_000)
    assert_same(multiset(patient), multiset(plain_answer("q7", [events], window_ms=2_000)), "q7")
    hasty = plain_answer("q7", epochs, delay_ms=0, window_ms=2_000)
    assert multiset(hasty) != multiset(patient)
