"""A generated stream of clicks: some pages are far more popular than others.

Click number n is a pure function of n, so any number of clicks can be counted again, without the stream, to check it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PAGES = 50_000
"""How many pages the site has. Page 0 takes about one click in sixteen, and so does the last half of them together."""


def page_of(number: Column, pages: int = PAGES) -> Column:
    """The page of a click: log-uniform, which is Zipf's law with exponent one, over a hash of the click's number."""
    evenly = F.shiftrightunsigned(F.xxhash64(number), 11) / F.lit(float(2**53))
    return F.least(F.floor(F.exp(evenly * F.log(F.lit(pages + 1.0)))) - 1, F.lit(pages - 1)).cast("long")


def click_stream(spark: SparkSession, rows_per_epoch: int, pages: int = PAGES) -> DataFrame:
    """An endless stream of ``page`` with exactly ``rows_per_epoch`` clicks in every epoch."""
    source = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", rows_per_epoch)
        .option("numPartitions", spark.sparkContext.defaultParallelism)
        .load()
    )
    return source.select(page_of(F.col("value"), pages).alias("page"))


def counts_after(spark: SparkSession, clicks: int, pages: int = PAGES) -> DataFrame:
    """The right answer after that many clicks, by a plain batch query: ``page`` and ``n``."""
    return (
        spark.range(clicks)
        .select(page_of(F.col("id"), pages).alias("page"))
        .groupBy("page")
        .agg(F.count("*").alias("n"))
    )
