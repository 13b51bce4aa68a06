"""Highest bid: the tops of each batch, then of each window, ties included.

A plain ``max`` would lose the ties and the other fields; keeping the bids of every price would put the whole
window into the state. Dropping in Arrow what cannot win leaves a handful of rows to aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """The bids of the highest price in each tumbling window."""
    fields = streams.bid.columns
    placed = streams.bid.where("price IS NOT NULL AND dateTime IS NOT NULL").withColumn(
        "opens", sf.window("dateTime", settings.window).start
    )
    tops = placed.mapInArrow(_keep_tops, placed.schema).drop("opens").withWatermark("dateTime", settings.delay)
    by_price = tops.groupBy(sf.window("dateTime", settings.window), "price").agg(
        sf.collect_list(sf.struct(*fields)).alias("bids")
    )
    highest = by_price.groupBy("window").agg(sf.max_by("bids", "price").alias("bids"))
    return highest.select(sf.inline("bids"))


def _keep_tops(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        tops = rows.group_by("opens").aggregate([("price", "max")]).rename_columns(["opens", "price"])
        yield from rows.join(tops, ["opens", "price"]).select(batch.schema.names).cast(batch.schema).to_batches()
