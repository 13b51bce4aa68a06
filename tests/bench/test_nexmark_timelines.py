"""The timelines of NEXMark queries: what is moved, what is fed, and when a stream's answer so far counts as right."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from whimbrel.bench import nexmark_timelines as timelines
from whimbrel.bench.nexmark_answers import is_answer
from whimbrel.bench.nexmark_feed import Feed, Shape, shape_of
from whimbrel.bench.timeline_run import imbalanced, is_drained
from whimbrel.experiments import megaphone_bins, megaphone_timelines
from whimbrel.model import Assignment
from whimbrel.nexmark.events import generate
from whimbrel.nexmark.reference import duckdb_answer

EVENTS = 6_000


def test_a_quarter_of_all_bins_leaves_half_of_the_slots():
    balanced = Assignment(tuple(b % 4 for b in range(64)))
    skewed = imbalanced(balanced, 4)
    moves = balanced.moves_to(skewed)
    assert len(moves) == 16
    assert {(move.source, move.target) for move in moves} == {(0, 2), (1, 3)}
    assert [len(skewed.bins_of(slot)) for slot in range(4)] == [8, 8, 24, 24]


def test_a_backlog_is_drained_when_epochs_no_longer_shrink():
    assert not is_drained([0, 100, 200])
    assert not is_drained([0, 9_000, 14_000, 17_000])
    assert is_drained([0, 9_000, 14_000, 17_000, 19_900])


def test_what_is_fed_can_be_said_again_as_tables():
    fed = Feed(Shape(("auction", "bid"), 0), preload=500, rate=100).tables(1_000)
    events = generate(0, 1_000)
    assert fed["person"].num_rows == 0
    for kind in ("auction", "bid"):
        names = fed[kind].schema.names
        assert fed[kind].equals(pa.Table.from_batches([getattr(events, kind).select(names)]))


def test_auctions_that_live_longer_expire_later_and_bids_of_the_preload_are_left_out():
    fed = Feed(Shape(("auction", "bid"), 0, longer=10), preload=500, rate=100).tables(1_000)
    usual = Feed(Shape(("auction", "bid"), 0), preload=500, rate=100).tables(1_000)
    lives = [
        pc.subtract(t["auction"]["expires"].cast(pa.int64()), t["auction"]["dateTime"].cast(pa.int64()))
        for t in (usual, fed)
    ]
    assert pc.multiply(lives[0], 10).to_pylist() == lives[1].to_pylist()
    assert usual["bid"].num_rows == 920 and fed["bid"].num_rows == 460


def feed_of(query):
    shape = shape_of(query)
    return Feed(Shape(shape.kinds, 0, "1 second", "500 milliseconds", 1), preload=0, rate=1_000)


def answered(folder, rows):
    """Leaves the rows as Spark's file sink does, beside a file of an epoch that was never committed."""
    (folder / "_spark_metadata").mkdir()
    pq.write_table(rows, folder / "part-0.parquet")
    pq.write_table(rows, folder / "part-1.parquet")
    (folder / "_spark_metadata" / "0").write_text(
        "v1\n" + json.dumps({"path": f"file://{folder}/part-0.parquet"}) + "\n"
    )


def watermark_after(seconds):
    at = datetime.fromtimestamp(1_436_918_400 + seconds, timezone.utc)
    return [{"eventTime": {"watermark": at.isoformat().replace("+00:00", "Z")}}, {}]


def whole_answer(query):
    feed = feed_of(query)
    kinds, settings = feed.tables(EVENTS), feed.shape.settings()
    return duckdb_answer(query, *kinds.values(), window_ms=settings.window_ms, slide_ms=settings.slide_ms, changes=True)


@pytest.mark.parametrize("query", ["q3", "q8"])
def test_rows_that_need_only_their_events_must_all_be_there(tmp_path, query):
    wanted = whole_answer(query)
    answered(tmp_path, wanted)
    assert wanted.num_rows and is_answer(query, feed_of(query), EVENTS, tmp_path, watermark_after(0))
    pq.write_table(wanted.slice(1), tmp_path / "part-0.parquet")
    assert not is_answer(query, feed_of(query), EVENTS, tmp_path, watermark_after(0))


def test_windows_must_be_there_once_the_watermark_has_passed_them_and_not_before(tmp_path):
    wanted, ended = whole_answer("q5"), 1_436_918_400_500_000
    rows = wanted.filter(pc.less_equal(wanted["window_end"].cast(pa.int64()), ended))
    answered(tmp_path, rows)
    assert 0 < rows.num_rows < wanted.num_rows
    assert is_answer("q5", feed_of("q5"), EVENTS, tmp_path, watermark_after(0.5))
    assert not is_answer("q5", feed_of("q5"), EVENTS, tmp_path, watermark_after(1))
    assert not is_answer("q5", feed_of("q5"), EVENTS, tmp_path, watermark_after(0))


@pytest.mark.parametrize("query", ["q4", "q6"])
def test_running_averages_must_have_every_closing_that_is_due(tmp_path, query):
    wanted = whole_answer(query)
    key, count = wanted.schema.names[0], pc.equal(wanted["auctions"], 1)
    answered(tmp_path, wanted.filter(count))
    assert is_answer(query, feed_of(query), EVENTS, tmp_path, watermark_after(0))
    assert not is_answer(query, feed_of(query), EVENTS, tmp_path, watermark_after(0.5)), "more closings are due"
    pq.write_table(wanted, tmp_path / "part-0.parquet")
    assert is_answer(query, feed_of(query), EVENTS, tmp_path, watermark_after(0.5))
    pq.write_table(wanted.filter(pc.invert(count)), tmp_path / "part-0.parquet")
    assert not is_answer(query, feed_of(query), EVENTS, tmp_path, watermark_after(0)), (
        f"no {key} may begin with a second"
    )


def row(pacing, times, query="q3", size=50_000_000):
    return {"query": query, "pacing": pacing, "times_steady": times, "bytes": size, "steps": 8}


def test_the_verdict_on_the_timelines_needs_something_that_shows():
    fine = [row("batched", 1.2), row("all-at-once", 2.0), row(timelines.OFFLINE, 9.0)]
    assert megaphone_timelines.holds(fine)
    assert megaphone_timelines.moved_mb(fine) == {"q3": 50.0}
    assert not megaphone_timelines.holds([])
    for missing in range(3):
        assert not megaphone_timelines.holds([each for index, each in enumerate(fine) if index != missing])
    assert not megaphone_timelines.holds([fine[0], row("all-at-once", 2.0, size=5), fine[2]]), "nothing large moved"
    assert not megaphone_timelines.holds([*fine, row("batched", None, "q5")]), "a phase without events proves nothing"
    for index, times in enumerate((1.6, 1.4, 4.0)):
        assert not megaphone_timelines.holds(
            [{**each, "times_steady": times} if n == index else each for n, each in enumerate(fine)]
        )


def test_the_verdict_on_bins_compares_migrations_of_several_steps():
    def measured(pacing, highest, steps):
        return {"pacing": pacing, "steps": steps, "times_steady": 1.2, "latency_ms": {"during": {"max": highest}}}

    assert megaphone_bins.holds([measured("all-at-once", 900, 1), measured("batched", 500, 4)])
    assert not megaphone_bins.holds([measured("all-at-once", 900, 1), measured("batched", 500, 1)])
    assert not megaphone_bins.holds([measured("all-at-once", 400, 1), measured("batched", 500, 4)])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("query", ["q3", "q4"])
def test_a_query_is_watched_live_and_offline_and_its_answer_is_right(spark, query):
    settings = timelines.Settings(rate=300, preload=6_000, seconds=3.0, bins=16, size=1)
    records = timelines.measure(spark, query, settings, ["all-at-once", "batched", timelines.OFFLINE])
    assert [record["pacing"] for record in records] == ["all-at-once", "batched", timelines.OFFLINE]
    for record in records:
        assert record["correct"] is True and record["times_steady"] is not None
        assert record["latency_ms"]["before"]["events"] > 0 and record["timeline"]
    assert records[1]["steps"] > records[0]["steps"] > 0
