"""Windows of event time, against Spark's own, while bins migrate."""

import numpy as np
import pytest
from pyspark.sql import functions as fn
from tests.operators import random_rows
from tests.operators.micro_batches import Input, run_migrating, run_native, same

import whimbrel as wb

AGGREGATES = {
    "n": wb.count(),
    "s": wb.sum_of("v"),
    "lo": wb.min_of("v"),
    "hi": wb.max_of("x"),
}


def native(stream, *window):
    return (
        stream.withWatermark("at", "10 seconds")
        .groupBy(fn.window("at", *window), "k")
        .agg(
            fn.count("*").alias("n"),
            fn.sum("v").alias("s"),
            fn.min("v").alias("lo"),
            fn.max("x").alias("hi"),
        )
    )


TUMBLING, SLIDING = ("15 seconds",), ("20 seconds", "8 seconds")


@pytest.mark.parametrize(
    ("window", "mode"),
    [
        (SLIDING, "append"),
        pytest.param(TUMBLING, "update", marks=pytest.mark.slow),
        pytest.param(TUMBLING, "append", marks=pytest.mark.slow),
        pytest.param(SLIDING, "update", marks=pytest.mark.slow),
    ],
)
def test_windows_are_those_of_spark_while_bins_migrate(spark, tmp_path, seed, window, mode):
    rows = Input(tmp_path / "rows", random_rows.batches(np.random.default_rng(seed), 5, 40))

    def build(job, stream):
        length, slide = (*window, None)[:2]
        return job.windows(
            stream, "k", time="at", length=length, slide=slide, watermark="10 seconds", output_mode=mode, **AGGREGATES
        )

    ours = run_migrating(spark, tmp_path, build, [rows], mode)
    theirs = run_native(spark, tmp_path, native(rows.read(spark), *window), mode)
    assert len(theirs) > 30
    same(ours, theirs)


@pytest.mark.parametrize("kind", ["windows", pytest.param("sessions", marks=pytest.mark.slow)])
def test_windows_and_sessions_without_a_key_are_those_of_spark(spark, tmp_path, seed, kind):
    rows = Input(tmp_path / "rows", random_rows.batches(np.random.default_rng(seed + 5), 3, 20))

    def build(job, stream):
        if kind == "windows":
            return job.windows(stream, time="at", length="15 seconds", watermark="10 seconds", **AGGREGATES)
        return job.sessions(stream, [], time="at", gap="1 second", watermark="10 seconds", **AGGREGATES)

    ours = run_migrating(spark, tmp_path, build, [rows])
    window = fn.window("at", "15 seconds") if kind == "windows" else fn.session_window("at", "1 second")
    measures = (fn.count("*").alias("n"), fn.sum("v").alias("s"), fn.min("v").alias("lo"), fn.max("x").alias("hi"))
    stream = rows.read(spark).withWatermark("at", "10 seconds")
    theirs = run_native(spark, tmp_path, stream.groupBy(window.alias("window")).agg(*measures))
    assert len(theirs) > 3
    same(ours, theirs)
