"""Keys of two inputs meet by value, whatever their types, or are refused by name."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.operators.micro_batches import BINS, SLOTS, Input, run, run_migrating, same

import whimbrel as wb
from whimbrel.model.errors import BadInput
from whimbrel.runtime.building_keys import with_common_keys


def of(*rows, **columns):
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(columns.items())})


LEFT = {"k": pa.int32(), "price": pa.decimal128(10, 2), "a": pa.string()}
RIGHT = {"id": pa.float64(), "cost": pa.decimal128(12, 3), "b": pa.string()}


def left(number, price, name):
    return of((number, Decimal(price), name), **LEFT)


def right(number, cost, name):
    return of((number, Decimal(cost), name), **RIGHT)


def test_a_join_meets_numbers_of_two_types_as_spark_does_while_bins_migrate(spark, tmp_path):
    lefts = Input(tmp_path / "left", [left(n, f"{n}.25", f"a{n}") for n in (1, 2, 3, 2)])
    rights = Input(tmp_path / "right", [right(n, f"{int(n)}.250", f"b{n}") for n in (2.0, 1.0, 1.5, 3.0)])
    ours = run_migrating(
        spark, tmp_path, lambda job, a, b: job.join(a, b, ["k", "price"], right_on=["id", "cost"]), [lefts, rights]
    )
    one, other = (spark.read.parquet(str(given.folder)) for given in (lefts, rights))
    theirs = one.join(other, (one.k == other.id) & (one.price == other.cost)).select("a", "b").collect()
    assert len(theirs) == 4
    same([{"a": row["a"], "b": row["b"]} for row in ours], [row.asDict() for row in theirs])


def test_an_enriched_stream_and_a_table_meet_beyond_the_narrower_type(spark, tmp_path):
    stream = Input(tmp_path / "rows", [of((1, "x"), (2, "y"), k=pa.int32(), v=pa.string())] * 2)
    table = Input(tmp_path / "table", [of((1, "one"), (1 << 40, "far"), k=pa.int64(), name=pa.string())] * 2)
    job = wb.job(spark, "enriched", max_slots=SLOTS, bins=BINS, directory=tmp_path / "job")
    emitted = run(job.enrich(stream.read(spark), table.read(spark), "k"), job.checkpoint, "append")
    job.close()
    assert {(row["k"], row["v"], row["name"]) for row in emitted} == {(1, "x", "one"), (2, "y", None)}


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("int", "double", "double"),
        ("decimal(10,2)", "decimal(12,3)", "decimal(12,3)"),
        ("bigint", "decimal(5,1)", "decimal(21,1)"),
        ("date", "timestamp", "timestamp"),
        ("string", "string", "string"),
    ],
)
def test_the_common_type_is_that_in_which_spark_compares(spark, one, other, common):
    left, right = spark.createDataFrame([], f"k {one}, v int"), spark.createDataFrame([], f"w int, `my key` {other}")
    left, right = with_common_keys(left, right, ("k", "my key"))
    assert left.dtypes == [("k", common), ("v", "int")]
    assert right.dtypes == [("w", "int"), ("my key", common)]


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("int", "string", "'k' is int and 'q' is string: they never match; cast one of them"),
        ("boolean", "int", "'k' is boolean and 'q' is int"),
        ("decimal(38,0)", "decimal(38,20)", "'k' is decimal.38,0. and 'q' is decimal.38,20.: no decimal holds"),
    ],
)
def test_types_that_never_match_are_refused_with_both_names(spark, one, other, words):
    left, right = spark.createDataFrame([], f"k {one}"), spark.createDataFrame([], f"q {other}")
    with pytest.raises(BadInput, match=words):
        with_common_keys(left, right, ("k", "q"))


def test_faults_of_two_inputs_are_refused_when_the_stream_is_built(spark, tmp_path):
    numbers = Input(tmp_path / "n", [of((1, 1), k=pa.int32(), v=pa.int64())]).read(spark)
    texts = Input(tmp_path / "t", [of(("1", 1), k=pa.string(), w=pa.int64())]).read(spark)
    job = wb.job(spark, "refusing", max_slots=SLOTS, bins=BINS, directory=tmp_path / "job")
    for refused in (
        lambda: job.join(numbers, texts, "k"),
        lambda: job.enrich(numbers, texts, "k"),
        lambda: job.binary(numbers, texts, "k", "k", len, "k int"),
    ):
        with pytest.raises(BadInput, match="'k' is int and 'k' is string"):
            refused()
    with pytest.raises(BadInput, match="same number of key columns"):
        job.join(numbers, texts, ["k", "v"], right_on=["k"])
    with pytest.raises(BadInput, match="the key of table 't' declares 'k' as string, and the key column 'k'"):
        job.unary(numbers, "k", len, "k int", tables={"t": ("k string", "n long")})
    with pytest.raises(BadInput, match="schedules declares 'k' as double"):
        job.unary(numbers, "k", len, "k int", schedules="k double")


@pytest.mark.parametrize("given", [{"left_time": "at"}, {"right_time": "at"}, {"watermark": "5 seconds"}])
def test_a_join_without_within_refuses_times_and_watermarks(spark, tmp_path, given):
    one = Input(tmp_path / "one", [of((1, 1), k=pa.int32(), v=pa.int64())]).read(spark)
    other = Input(tmp_path / "other", [of((1, 1), k=pa.int32(), w=pa.int64())]).read(spark)
    job = wb.job(spark, "unbounded", max_slots=SLOTS, bins=BINS, directory=tmp_path / "job")
    with pytest.raises(BadInput, match="only together with within"):
        job.join(one, other, "k", **given)
