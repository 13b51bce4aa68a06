"""Every kind of join in one query against Spark's batch answer over the same random rows, while bins migrate."""

from datetime import timedelta
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as fn
from tests.operators import random_rows
from tests.operators.micro_batches import Input, run_migrating, same

KINDS = ("inner", "left", "right", "full")
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


def test_every_join_is_that_of_spark_while_bins_migrate(spark, tmp_path, seed):
    rng = np.random.default_rng(seed + 4)
    left, right = Input(tmp_path / "left", batches(rng)), Input(tmp_path / "right", batches(rng))

    def renamed(stream):
        return stream.select("k", fn.col("at").alias("then"), fn.col("v").alias("w"))

    def build(job, a, b):
        found = {how: job.join(a, renamed(b), "k", how=how, name=how, **BOUNDS) for how in KINDS}
        found["unbounded"] = job.join(a, renamed(b), "k", name="unbounded")
        return reduce(lambda one, two: one.union(two), (tagged(how, result) for how, result in found.items()))

    def tagged(how, result):
        return result.select(fn.lit(how).alias("how"), *OUT).where("k IS NULL OR k <> 'end'")

    ours = run_migrating(spark, tmp_path, build, [left, right])
    one = spark.read.parquet(str(left.folder))
    other = renamed(spark.read.parquet(str(right.folder))).withColumnRenamed("k", "k2")
    found = {how: one.join(other, fn.expr(NEAR), how) for how in KINDS}
    found["unbounded"] = one.join(other, fn.expr("k = k2"))
    theirs = []
    for how, joined in found.items():
        rows = tagged(how, joined.withColumn("k", fn.coalesce("k", "k2"))).collect()
        assert len(rows) > 30, how
        theirs += [row.asDict() for row in rows]
    same(ours, theirs)
