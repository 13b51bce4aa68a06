"""The generated clicks are skewed, and the batch answer counts exactly what the stream delivers."""

import pytest
from pyspark.sql import functions as F

from whimbrel.workloads.clicks import PAGES, click_stream, counts_after

pytestmark = pytest.mark.spark


def test_few_pages_take_most_clicks(spark) -> None:
    counts = counts_after(spark, 100_000).agg(F.sum("n"), F.max("n"), F.min("page"), F.max("page")).first()
    assert counts[0] == 100_000
    assert 0.05 < counts[1] / 100_000 < 0.08
    assert counts[2] == 0
    assert PAGES * 0.95 < counts[3] < PAGES


def test_the_stream_delivers_the_clicks_of_the_batch_answer(spark, tmp_path) -> None:
    stream = click_stream(spark, rows_per_epoch=500, pages=50)
    query = stream.writeStream.format("parquet").option("path", str(tmp_path / "out"))
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    while len([p for p in query.recentProgress if p["numInputRows"]]) < 3:
        assert query.awaitTermination(0.2) is False
    query.stop()
    seen = spark.read.parquet(str(tmp_path / "out")).groupBy("page").agg(F.count("*").alias("n"))
    clicks = seen.agg(F.sum("n")).first()[0]
    assert clicks >= 1500
    assert sorted(seen.collect()) == sorted(counts_after(spark, clicks, pages=50).collect())
