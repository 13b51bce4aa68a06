"""A processor inside migratable bins says what the same class says inside Spark's own operator."""

from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pytest
from tests.operators import random_rows
from tests.operators.micro_batches import Input, run_migrating, run_native, same
from tests.operators.processors import Everything, Punctual, Witness


@pytest.mark.slow
def test_a_processor_with_timers_says_what_it_says_inside_spark(spark, tmp_path, seed):
    rows = Input(tmp_path / "rows", random_rows.batches(np.random.default_rng(seed + 3), 3, 12, keys=4))

    def timed(stream):
        return stream.where("at IS NOT NULL AND k IS NOT NULL")

    def build(job, stream):
        given = {"time_mode": "EventTime", "time": "at", "watermark": "5 seconds"}
        return job.processor(timed(stream), "k", Everything(), Everything.OUTPUT, **given)

    ours = run_migrating(spark, tmp_path, build, [rows])
    native = timed(rows.read(spark)).withWatermark("at", "5 seconds").groupBy("k")
    native = native.transformWithStateInPandas(Everything(), Everything.OUTPUT, "append", "EventTime")
    theirs = run_native(spark, tmp_path, native)
    assert sum(row["what"] == "timer" for row in theirs) >= 3
    same(ours, theirs)


@pytest.fixture
def berlin(spark):
    """The session in a zone that is not UTC."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


INSTANT = pa.timestamp("us", tz="UTC")


def _hour(hour):
    return datetime(2024, 7, 1, hour, tzinfo=timezone.utc)


@pytest.mark.slow
def test_a_processor_sees_and_says_times_in_the_session_s_zone_as_inside_spark(berlin, tmp_path):
    schema = pa.schema([("k", INSTANT), ("at", INSTANT), ("nested", pa.list_(INSTANT))])
    epochs = [[(3, 4), (5, 6)], [(3, 5), (5, 7)], [(3, 6)]]
    batches = [[{"k": _hour(k), "at": _hour(at), "nested": [_hour(at)]} for k, at in epoch] for epoch in epochs]
    rows = Input(tmp_path / "rows", [pa.Table.from_pylist(batch, schema=schema) for batch in batches])

    def build(job, stream):
        return job.processor(stream, "k", Witness(), Witness.OUTPUT)

    ours = run_migrating(berlin, tmp_path, build, [rows])
    native = rows.read(berlin).groupBy("k").transformWithStateInPandas(Witness(), Witness.OUTPUT, "append", "None")
    theirs = run_native(berlin, tmp_path, native)
    assert len(ours) == 5
    same(ours, theirs)


@pytest.mark.slow
def test_a_timer_at_the_watermark_itself_is_called_as_inside_spark(spark, tmp_path):
    schema = pa.schema([("k", pa.string()), ("at", INSTANT)])
    batches = [[{"k": "a", "at": _hour(hour)}, {"k": "b", "at": _hour(hour - 1)}] for hour in (3, 4, 5)]
    rows = Input(tmp_path / "rows", [pa.Table.from_pylist(batch, schema=schema) for batch in batches])

    def build(job, stream):
        given = {"time_mode": "EventTime", "time": "at", "watermark": "0 seconds"}
        return job.processor(stream, "k", Punctual(), Punctual.OUTPUT, **given)

    ours = run_migrating(spark, tmp_path, build, [rows])
    native = rows.read(spark).withWatermark("at", "0 seconds").groupBy("k")
    native = native.transformWithStateInPandas(Punctual(), Punctual.OUTPUT, "append", "EventTime")
    theirs = run_native(spark, tmp_path, native)
    assert _hour(5).timestamp() * 1000 in [row["expiry"] for row in theirs]
    same(ours, theirs)
