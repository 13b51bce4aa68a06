"""Every aggregate in one job against Spark's batch answer over the same random rows, while bins migrate."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as fn
from tests.operators.micro_batches import Input, run_migrating

import whimbrel as wb

SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("z", pa.float64()),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("d", pa.decimal128(36, 2)),
        ("b", pa.bool_()),
        ("t", pa.date32()),
        ("turn", pa.int64()),
    ]
)


def aggregates():
    """Ours and Spark's, by name."""
    return {
        "rows": (wb.count(), fn.count("*")),
        "known": (wb.count("s"), fn.count("s")),
        "total": (wb.sum_of("n"), fn.sum("n")),
        "float_total": (wb.sum_of("x"), fn.sum("x")),
        "decimal_total": (wb.sum_of("d"), fn.sum("d")),
        "least": (wb.min_of("n"), fn.min("n")),
        "least_float": (wb.min_of("x"), fn.min("x")),
        "least_string": (wb.min_of("s"), fn.min("s")),
        "least_boolean": (wb.min_of("b"), fn.min("b")),
        "greatest_decimal": (wb.max_of("d"), fn.max("d")),
        "greatest_float": (wb.max_of("x"), fn.max("x")),
        "greatest_date": (wb.max_of("t"), fn.max("t")),
        "mean": (wb.mean_of("n"), fn.avg("n")),
        "variance": (wb.variance_of("x"), fn.variance("x")),
        "deviation": (wb.stddev_of("n"), fn.stddev("n")),
        "first": (wb.first_of("s", "turn"), fn.min_by("s", "turn")),
        "last": (wb.last_of("d", "turn"), fn.max_by("d", "turn")),
        "by_string": (wb.last_of("n", "tag"), fn.max_by("n", "tag")),
        "distinct": (wb.count_distinct("s"), fn.count_distinct("s")),
        "about": (wb.approx_count_distinct("s"), fn.count_distinct("s")),
        "top": (wb.top("n", 3), fn.slice(fn.sort_array(fn.collect_list("n"), asc=False), 1, 3)),
        "few": (
            wb.collect("n", 4),
            fn.expr("slice(transform(array_sort(collect_list(IF(n IS NULL, NULL, struct(turn, n)))), p -> p.n), 1, 4)"),
        ),
        "set": (wb.collect_set("s"), fn.collect_set("s")),
    }


def rows_of(rng, count, begin):
    """About one value in eight is null; keys with two zeros and NaN."""

    def maybe(value):
        return None if rng.random() < 0.12 else value

    return [
        {
            "k": maybe(f"k{rng.integers(5)}"),
            "z": maybe(float(rng.choice([-0.0, 0.0, math.nan, 1.5]))),
            "n": maybe(int(rng.integers(-50, 50))),
            "x": maybe(float(rng.integers(-80, 80)) / 8),
            "s": maybe("".join(rng.choice(list("abü"), rng.integers(0, 3)))),
            "d": maybe(Decimal(int(rng.integers(-(10**9), 10**9))) * 10**20),
            "b": maybe(bool(rng.integers(2))),
            "t": maybe(int(rng.integers(0, 20_000))),
            "turn": begin + turn,
        }
        for turn in range(count)
    ]


def plain(row):
    """A row with one word for NaN, rounded doubles, and sets in order."""
    found = {}
    for name, value in row.items():
        if isinstance(value, float):
            found[name] = "nan" if math.isnan(value) else repr(round(value, 9))
        else:
            found[name] = repr(sorted(value) if name == "set" else value)
    return found


def test_every_aggregate_is_that_of_spark_while_bins_migrate(spark, tmp_path, seed):
    rng = np.random.default_rng(seed + 3)
    batches = [pa.Table.from_pylist(rows_of(rng, 60, 60 * n), schema=SCHEMA) for n in range(6)]
    given = Input(tmp_path / "rows", batches)

    def tagged(frame):
        return frame.withColumn("tag", fn.format_string("%05d", "turn"))

    def build(job, stream):
        return job.aggregate(tagged(stream), ["k", "z"], **{name: ours for name, (ours, _) in aggregates().items()})

    ours = {(plain(row)["k"], plain(row)["z"]): plain(row) for row in run_migrating(spark, tmp_path, build, [given])}
    batch = tagged(spark.read.parquet(str(given.folder)))
    answers = [theirs.alias(name) for name, (_, theirs) in aggregates().items()]
    theirs = [plain(row.asDict()) for row in batch.groupBy("k", "z").agg(*answers).collect()]
    assert len(theirs) == len(ours) >= 20
    for row in theirs:
        mine = ours[row["k"], row["z"]]
        assert {n: (mine[n], v) for n, v in row.items() if mine[n] != v} == {}, (row["k"], row["z"])
