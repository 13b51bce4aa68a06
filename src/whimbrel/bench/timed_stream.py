"""The stream of the operator benchmarks: keys, event times and values as functions of a row's number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from whimbrel.bench.streams import KeyStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VALUES = 1000


@dataclass(frozen=True, slots=True)
class TimedStream:
    """``key``, ``at`` and ``v``; every epoch is ``seconds_per_epoch`` of event time."""

    keys: int
    rows_per_epoch: int
    seconds_per_epoch: int = 5
    partitions: int = 2

    @property
    def step_us(self) -> int:
        """Event time from one row to the next."""
        return self.seconds_per_epoch * 1_000_000 // self.rows_per_epoch

    def read(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame."""
        from pyspark.sql import functions as fn

        rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", str(self.rows_per_epoch))
        rows = rate.option("numPartitions", str(self.partitions)).load()
        key = (fn.col("value") * fn.lit(2_654_435_761)) % fn.lit(1 << 32) % fn.lit(self.keys)
        at = fn.timestamp_micros(fn.col("value") * fn.lit(self.step_us))
        return rows.select(key.alias("key"), at.alias("at"), (fn.col("value") % fn.lit(VALUES)).alias("v"))

    def rows_between(self, start_us: npt.NDArray[np.int64], length_us: int, rows: int) -> npt.NDArray[np.int64]:
        """How many of the first ``rows`` rows lie in each span."""
        step = self.step_us
        first = np.clip(-(-start_us // step), 0, rows)
        last = np.clip(-(-(start_us + length_us) // step), 0, rows)
        return last - first

    def distinct_keys(self, rows: int) -> int:
        """How many distinct keys the first ``rows`` rows have."""
        return int(np.count_nonzero(KeyStream(self.keys, self.rows_per_epoch).counts(rows)))
