"""The streaming source sends the generator's events, in full, however it is asked."""

from __future__ import annotations

import pytest
from tests.nexmark.comparing import assert_same, multiset
from tests.nexmark.scenarios import foreign, generated, unwrapped, write_foreign

from whimbrel.model import BadInput
from whimbrel.nexmark.events import Rules, write_files
from whimbrel.nexmark.reading import read_streams
from whimbrel.nexmark.source import NexmarkReader, Plan, ReadAllAvailable, ReadMaxRows, register


def test_due_events_follow_the_clock_and_survive_a_restart():
    now = [1_000_000]
    reader = NexmarkReader(Plan.of({"rate": "1000", "events": "1500"}), lambda: now[0])
    start = reader.initialOffset()
    now[0] += 999_999
    first = reader.latestOffset(start, ReadAllAvailable())
    assert first == {"events": 1000, "started_us": 1_000_000}
    again = NexmarkReader(Plan.of({"rate": "1000", "events": "1500"}), lambda: now[0])
    assert again.latestOffset(first, ReadAllAvailable()) == first
    now[0] += 10_000_000
    assert again.latestOffset(first, ReadMaxRows(300))["events"] == 1300
    assert again.latestOffset(first, ReadAllAvailable())["events"] == 1500


def test_slices_cover_an_epoch_and_each_row_says_when_it_was_due():
    reader = NexmarkReader(Plan.of({"rate": "1000", "partitions": "3", "kind": "bid"}))
    slices = reader.partitions({"events": 100, "started_us": 5}, {"events": 1100, "started_us": 5})
    assert [part.count for part in slices] == [333, 333, 334]
    rows = [row for part in slices for batch in reader.read(part) for row in batch.to_pylist()]
    assert [row["number"] for row in rows] == [number for number in range(100, 1100) if number % 50 > 3]
    assert all(round(row["due"].timestamp() * 1e6) == 5 + row["number"] * 1000 for row in rows)
    wanted = [record for kind, record in generated(1100)[100:] if kind == "bid"]
    assert [{name: row[name] for name in wanted[0]} for row in rows] == wanted


@pytest.mark.parametrize("kind", ["event", "auction"])
def test_a_query_reads_every_event_once(spark, tmp_path, kind):
    register(spark)
    options = {"kind": kind, "events": "5000", "perEpoch": "2000", "outOfOrder": "100"}
    stream = spark.readStream.format("nexmark").options(**options).load()
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
    query.awaitTermination()
    assert sum(each["numInputRows"] > 0 for each in query.recentProgress) == 3
    rows = spark.read.parquet(str(tmp_path / "out")).orderBy("number").toArrow().drop_columns(["number", "due"])
    wanted = generated(5_000, Rules(out_of_order=100))
    if kind == "event":
        assert unwrapped(rows) == wanted
    else:
        assert rows.to_pylist() == [record for each, record in wanted if each == kind]


@pytest.mark.parametrize(
    ("options", "lesson"),
    [
        ({}, "needs a rate"),
        ({"events": "10"}, "perEpoch"),
        ({"rate": "10", "kind": "sale"}, "kind 'sale'"),
        ({"rate": "10", "partitions": "0"}, "at least 1"),
        ({"rate": "10", "events": "many"}, "whole number"),
        ({"rate": "10", "speed": "1"}, "no option 'speed'"),
        ({"rate": "10", "shape": "saw"}, "shape 'saw'"),
        ({"rate": "10", "shape": "trace"}, "path of a CSV"),
        ({"rate": "fast"}, "rate is 'fast'"),
    ],
)
def test_options_that_no_stream_can_have_are_refused(options, lesson):
    with pytest.raises(BadInput, match=lesson):
        Plan.of(options)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_the_three_folders_are_dataframes(spark, tmp_path, form):
    write_files(tmp_path, 1_000, Rules(), form)
    streams = read_streams(spark, tmp_path, streaming=False)
    for kind in ("person", "auction", "bid"):
        wanted = multiset(record.values() for each, record in generated(1_000) if each == kind)
        assert_same(multiset(map(tuple, getattr(streams, kind).collect())), wanted, kind)
    assert streams.events.count() == 1_000


def test_foreign_lines_are_a_streaming_dataframe(spark, tmp_path):
    events = foreign(600, seed=2)
    streams = read_streams(spark, write_foreign(tmp_path / "in", events))
    writer = streams.events.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    rows = unwrapped(spark.read.parquet(str(tmp_path / "out")).toArrow())
    plain = lambda pairs: multiset((kind, *record.values()) for kind, record in pairs)  # noqa: E731
    assert_same(plain(rows), plain(events), "events")


def test_paths_without_events_are_refused(spark, tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_streams(spark, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("line", "lesson"),
    [
        ('{"bid": {"price": "5"}}', "MALFORMED"),
        ("no json", "MALFORMED"),
        ('{"bid": {"dateTime": "soon"}}', "soon: write ISO 8601"),
        ('{"bid": {"price": 5}, "person": {"id": 1}}', "exactly one of the objects"),
        ("{}", "exactly one of the objects"),
    ],
)
def test_a_line_that_cannot_be_read_fails_its_query(spark, tmp_path, line, lesson):
    (tmp_path / "e.jsonl").write_text('{"bid": {"auction": 1}}\n' + line + "\n")
    with pytest.raises(Exception, match=lesson):
        read_streams(spark, tmp_path, streaming=False).bid.collect()


def test_a_folder_of_a_kind_may_be_alone_and_its_records_wrapped_or_bare(spark, tmp_path):
    (tmp_path / "bid").mkdir()
    (tmp_path / "bid" / "e.jsonl").write_text('{"auction": 7, "price": 3}\n{"bid": {"auction": 8, "dateTime": 1000}}\n')
    streams = read_streams(spark, tmp_path, streaming=False)
    assert sorted((row.auction, row.price) for row in streams.bid.collect()) == [(7, 3), (8, None)]
    assert streams.events.count() == 2 and streams.person.count() == streams.auction.count() == 0
    counted = read_streams(spark, tmp_path).events.writeStream.format("memory").queryName("alone")
    counted.trigger(availableNow=True).start().awaitTermination()
    assert spark.table("alone").count() == 2


def test_a_bounded_stream_with_a_rate_runs_to_its_end_where_only_what_is_available_is_asked_for():
    reader = NexmarkReader(Plan.of({"rate": "1", "events": "500"}), lambda: 0)
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable())["events"] == 1
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset(start, ReadAllAvailable())["events"] == 500
    assert reader.latestOffset(start, ReadMaxRows(200))["events"] == 200
    with pytest.raises(BadInput, match="endless"):
        NexmarkReader(Plan.of({"rate": "1"}), lambda: 0).prepareForTriggerAvailableNow()


def test_a_preload_is_due_at_once_and_the_schedule_goes_on_after_it():
    now = [0]
    reader = NexmarkReader(
        Plan.of({"rate": "1000", "preload": "5000", "kind": "bid", "partitions": "1"}), lambda: now[0]
    )
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable())["events"] == 5001
    now[0] = 1_999_999
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end["events"] == 7000
    (part,) = reader.partitions({"events": 4900, "started_us": 0}, end)
    rows = [row for batch in reader.read(part) for row in batch.select(["number", "due"]).to_pylist()]
    assert all(row["due"].timestamp() * 1000 == pytest.approx(max(row["number"] - 5000, 0)) for row in rows)
