"""Every kind of join against Spark's batch answer over the same random rows, while bins migrate."""

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as fn
from tests.operators import random_rows
from tests.operators.micro_batches import Input, run_migrating, same

OUT = ["k", "at", "v", "then", "w"]
BOUNDS = {"left_time": "at", "right_time": "then", "within": ("4 seconds", "6 seconds"), "watermark": "30 seconds"}
NEAR = "k = k2 AND then >= at - INTERVAL 4 SECONDS AND then <= at + INTERVAL 6 SECONDS"


def batches(rng):
    """Rows out of order by less than the delay, so that none is late; one in ten without a key, none without a time."""
    made = []
    for number in range(4):
        times = [random_rows.BEGIN + timedelta(seconds=20 * number + float(s)) for s in rng.integers(0, 200, 25) / 10]
        keys = [None if rng.random() < 0.1 else f"k{rng.integers(6)}" for _ in times]
        values = [None if rng.random() < 0.1 else int(rng.integers(9)) for _ in times]
        made.append(pa.table({"k": keys, "at": pa.array(times, random_rows.SCHEMA.field("at").type), "v": values}))
    end = {"k": ["end"], "at": pa.array([random_rows.instant(100_000)], made[0].schema.field("at").type), "v": [0]}
    return [*made, pa.table(end)]


@pytest.mark.parametrize(
    "how",
    [
        "full",
        "unbounded",
        pytest.param("inner", marks=pytest.mark.slow),
        pytest.param("left", marks=pytest.mark.slow),
        pytest.param("right", marks=pytest.mark.slow),
    ],
)
def test_every_join_is_that_of_spark_while_bins_migrate(spark, tmp_path, seed, how):
    rng = np.random.default_rng(seed + 4)
    left, right = Input(tmp_path / "left", batches(rng)), Input(tmp_path / "right", batches(rng))

    def renamed(frame):
        return frame.select("k", fn.col("at").alias("then"), fn.col("v").alias("w"))

    def build(job, a, b):
        return job.join(a, renamed(b), "k") if how == "unbounded" else job.join(a, renamed(b), "k", how=how, **BOUNDS)

    ours = run_migrating(spark, tmp_path, build, [left, right])
    one = spark.read.parquet(str(left.folder))
    other = renamed(spark.read.parquet(str(right.folder))).withColumnRenamed("k", "k2")
    condition = fn.expr("k = k2" if how == "unbounded" else NEAR)
    joined = one.join(other, condition, "inner" if how == "unbounded" else how)
    theirs = [row.asDict() for row in joined.withColumn("k", fn.coalesce("k", "k2")).select(*OUT).collect()]
    assert len(theirs) > 30
    same(_without_end(ours), _without_end(theirs))


def _without_end(rows):
    return [row for row in rows if row["k"] != "end"]
