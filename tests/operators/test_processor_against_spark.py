"""A processor inside migratable bins says what the same class says inside Spark's own operator."""

import numpy as np
import pytest
from tests.operators import random_rows
from tests.operators.micro_batches import Input, run_migrating, run_native, same
from tests.operators.processors import Everything


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
