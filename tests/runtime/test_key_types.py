"""Keys of every type that Spark can group by, nested ones and nulls among them, as one key and while bins move."""

from collections import Counter

from pyspark.sql import functions as fn
from tests.runtime.counting import BINS, open_job

import whimbrel as wb
from whimbrel.bench.epochs import Follower
from whimbrel.migration import Pacing
from whimbrel.model import Assignment

COLUMNS = {
    "a_byte": "CAST(k AS tinyint)",
    "a_short": "CAST(k * 300 AS smallint)",
    "an_int": "CAST(-k AS int)",
    "a_long": "k * 10000000000",
    "a_float": "CAST(k / 4 AS float)",
    "a_double": "CASE WHEN k = 1 THEN double('NaN') WHEN k = 2 THEN -0.0D ELSE k / 3 END",
    "a_decimal": "CAST(k / 7 AS decimal(12, 5))",
    "a_large_decimal": "CAST(k AS decimal(38, 18)) * -12345678901234567.25",
    "a_string": "CASE WHEN k = 3 THEN NULL ELSE concat('straße ', k) END",
    "some_bytes": "CAST(concat('b', k) AS binary)",
    "a_boolean": "k % 2 = 0",
    "a_date": "date_add(date'2026-01-01', CAST(k AS int))",
    "an_instant": "timestamp_micros(1700000000000001 + k)",
    "a_local_time": "CAST(timestamp_micros(1700000000000001 + k) AS timestamp_ntz)",
    "a_duration": "make_dt_interval(CAST(k AS int))",
    "an_array": "CASE WHEN k = 4 THEN array() ELSE array(CAST(k AS int), NULL) END",
    "a_struct": "named_struct('x', k, 'y', array(named_struct('z', CAST(k AS string))))",
}


def test_keys_of_every_type_are_counted_as_spark_groups_them(spark, tmp_path):
    rows = (
        spark.range(240).selectExpr("id % 11 AS k").selectExpr(*[f"{sql} AS {name}" for name, sql in COLUMNS.items()])
    )
    rows.repartition(4).write.parquet(str(tmp_path / "in"))
    job = open_job(spark, tmp_path)
    stream = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    counted = job.aggregate(stream, list(COLUMNS), n=wb.count())
    follower = Follower(job.writer(counted).format("parquet").option("path", str(tmp_path / "out")).start())
    job.board.post_target(Assignment.even(BINS, 4), Pacing.of("all-at-once"))
    follower.until(lambda: sum(follower.measured.rows) == 240 and job.status().settled, 180)
    follower.stop()
    out = spark.read.parquet(str(tmp_path / "out"))
    assert out.dtypes[:-1] == rows.dtypes
    found = out.groupBy(*COLUMNS).agg(fn.max("n").alias("n")).collect()
    expected = rows.groupBy(*COLUMNS).agg(fn.count("*").alias("n")).collect()
    assert Counter(map(repr, found)) == Counter(map(repr, expected))
    assert job.audit().ok


VALUES = (
    "d decimal(12, 3), t timestamp, l timestamp_ntz, day date, a array<int>, m map<string, bigint>, "
    "s struct<x: int, y: array<string>>, b binary, f float, yes boolean, nothing string"
)


def remember(state, rows):
    """A state of every type; each epoch goes on from the values that it reads back."""
    import datetime as dt
    from decimal import Decimal

    numbers = [row.n for row in rows]
    seen = ([] if state is None else list(state.a)) + numbers
    total = Decimal("0.125") * len(numbers) + (Decimal(0) if state is None else state.d)
    instant = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(microseconds=len(seen))
    before = {} if state is None else dict(state.m)
    often = before | {"rows": before.get("rows", 0) + len(numbers)}
    fields = {"x": len(seen), "y": [str(n) for n in sorted(seen)[:2]] + [None]}
    return (
        total, instant, instant.replace(tzinfo=None), instant.date(), seen, often, fields,
        bytes(n % 256 for n in sorted(seen)), len(seen) / 2, bool(len(seen) % 2), None,
    )  # fmt: skip


def test_a_state_of_every_type_is_read_back_as_it_was_written(spark, tmp_path):
    rows = spark.range(120).selectExpr("id % 5 AS k", "CAST(id AS int) AS n")
    rows.repartition(3).write.parquet(str(tmp_path / "in"))
    job = open_job(spark, tmp_path)
    stream = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    told = job.state_machine(stream, "k", remember, f"k long, {VALUES}")
    follower = Follower(job.writer(told).format("parquet").option("path", str(tmp_path / "out")).start())
    job.board.post_target(Assignment.even(BINS, 4), Pacing.of("all-at-once"))
    follower.until(lambda: sum(follower.measured.rows) == 120 and job.status().settled, 180)
    follower.stop()
    last = spark.read.parquet(str(tmp_path / "out"))
    found = {row["k"]: row for row in last.collect() if len(row["a"]) == 24}
    assert set(found) == set(range(5))
    for k, row in found.items():
        numbers = sorted(row["a"])
        assert numbers == list(range(k, 120, 5))
        assert float(row["d"]) == 24 * 0.125 and row["m"] == {"rows": 24} and row["f"] == 12.0
        assert row["l"].microsecond == row["t"].microsecond == 24 and str(row["day"]) == "2026-01-01"
        assert row["s"].asDict() == {"x": 24, "y": [*sorted(map(str, numbers[:2]), key=int), None]}
        assert bytes(row["b"]) == bytes(numbers) and row["yes"] is False and row["nothing"] is None
