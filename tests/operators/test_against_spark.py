"""Dedup, joins and sessions against Spark's own streaming operators, on the same micro-batches, while bins migrate."""

import numpy as np
import pytest
from pyspark.sql import functions as fn
from tests.operators import random_rows
from tests.operators.micro_batches import Input, run_migrating, run_native, same

import whimbrel as wb


@pytest.fixture
def rows(tmp_path, seed):
    """A few small micro-batches."""
    return Input(tmp_path / "rows", random_rows.batches(np.random.default_rng(seed), 4, 40))


def with_order(rows):
    return [{name: row[name] for name in sorted(row)} for row in rows]


@pytest.mark.slow
def test_dedup_by_key_and_time_is_that_of_spark(spark, tmp_path, rows):
    ours = run_migrating(
        spark, tmp_path, lambda job, s: job.dedup(s, ["k", "at"], time="at", watermark="5 seconds"), [rows]
    )
    native = rows.read(spark).withWatermark("at", "5 seconds").dropDuplicates(["k", "at"])
    theirs = run_native(spark, tmp_path, native)
    assert len(theirs) > 50
    same([{"k": r["k"], "at": r["at"]} for r in ours], [{"k": r["k"], "at": r["at"]} for r in theirs])


@pytest.mark.slow
def test_dedup_within_the_watermark_is_that_of_spark(spark, tmp_path, rows):
    def timed(stream):
        return stream.where("at IS NOT NULL")

    def build(job, stream):
        return job.dedup(timed(stream), "k", time="at", watermark="5 seconds")

    late = []
    ours = run_migrating(spark, tmp_path, build, [rows], look=lambda job: late.append(job.late_rows()))
    assert 0 < late[0]["dedup"] < 40
    native = timed(rows.read(spark)).withWatermark("at", "5 seconds").dropDuplicatesWithinWatermark(["k"])
    theirs = run_native(spark, tmp_path, native)
    assert len(theirs) > 15
    same(ours, theirs)


@pytest.mark.parametrize("how", [pytest.param("left", marks=pytest.mark.slow), "full"])
def test_a_bounded_join_is_that_of_spark(spark, tmp_path, seed, how):
    rng = np.random.default_rng(seed + 1)
    left = Input(tmp_path / "left", random_rows.batches(rng, 3, 25))
    right = Input(tmp_path / "right", random_rows.batches(rng, 3, 25))

    def renamed(stream):
        return stream.select("k", fn.col("at").alias("then"), fn.col("v").alias("w"))

    def build(job, a, b):
        return job.join(
            a.drop("x"),
            renamed(b),
            "k",
            how=how,
            left_time="at",
            right_time="then",
            within=("4 seconds", "6 seconds"),
            watermark=("5 seconds", "8 seconds"),
        )

    ours = run_migrating(spark, tmp_path, build, [left, right])
    one = left.read(spark).drop("x").withWatermark("at", "5 seconds")
    other = renamed(right.read(spark)).withColumnRenamed("k", "k2").withWatermark("then", "8 seconds")
    near = fn.expr("k = k2 AND then >= at - INTERVAL 4 SECONDS AND then <= at + INTERVAL 6 SECONDS")
    native = one.join(other, near, {"left": "leftOuter", "full": "fullOuter"}[how])
    native = native.select(fn.coalesce("k", "k2").alias("k"), "at", "v", "then", "w")
    theirs = run_native(spark, tmp_path, native)
    assert len(theirs) > 30
    same(ours, theirs)


@pytest.mark.slow
def test_sessions_are_those_of_spark(spark, tmp_path, seed):
    batches = random_rows.batches(np.random.default_rng(seed + 2), 4, 25, step=40.0, keys=6)
    rows = Input(tmp_path / "rows", batches)

    def whole_seconds(stream):
        return stream.withColumn("at", fn.date_trunc("second", "at"))

    ours = run_migrating(
        spark,
        tmp_path,
        lambda job, s: job.sessions(
            whole_seconds(s),
            "k",
            time="at",
            gap="5 seconds",
            watermark="5 seconds",
            n=wb.count(),
            s=wb.sum_of("v"),
        ),
        [rows],
    )
    native = (
        whole_seconds(rows.read(spark))
        .withWatermark("at", "5 seconds")
        .groupBy(fn.session_window("at", "5 seconds").alias("window"), "k")
        .agg(fn.count("*").alias("n"), fn.sum("v").alias("s"))
    )
    theirs = run_native(spark, tmp_path, native)
    assert len(theirs) > 30
    same(ours, theirs)
