"""An open-loop source of keys: every key once as the preload, then uniformly drawn ones at a rate that never waits.

Row n is a function of n, so the counts after any number of rows can be said without Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import LongType, StructField, StructType

from whimbrel.nexmark.events.schedule import Schedule
from whimbrel.nexmark.source import NexmarkReader, Plan, Slice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "whimbrel_open_loop_keys"
_SCRAMBLE, _CYCLE, _CHUNK = 2_654_435_761, 1 << 32, 1 << 18
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OpenLoopKeys:
    """``keys`` of them, ``rate`` rows a second after the preload."""

    keys: int
    rate: int

    @property
    def preload(self) -> int:
        """One row per key."""
        return self.keys

    def read(self, spark: SparkSession, until: int | None = None) -> DataFrame:
        """The stream, with the one column ``key``; with ``until`` it ends after so many rows."""
        spark.dataSource.register(KeySource)
        options = {"keys": self.keys, "rate": self.rate} | ({} if until is None else {"events": until})
        return spark.readStream.format(FORMAT).options(**options).load()

    def keys_of(self, numbers: Integers) -> Integers:
        """The key of each row."""
        return np.where(numbers < self.keys, numbers, numbers * _SCRAMBLE % _CYCLE % self.keys)

    def counts(self, rows: int) -> Integers:
        """How often each key occurs in the first ``rows`` rows, at least the preload: the oracle."""
        later = self.keys_of(np.arange(self.keys, max(rows, self.keys), dtype=np.int64))
        return 1 + np.bincount(later, minlength=self.keys)

    def due_ms(self, numbers: Integers, started_ms: float) -> Integers:
        """When rows were due, on the clock on which the source started at ``started_ms``."""
        due_us = Schedule.flat(self.rate).due_us(np.maximum(numbers - self.preload, 0))
        return (started_ms + due_us / 1000).astype(np.int64)


class KeySource(DataSource):
    """Options: ``keys``, ``rate`` and, where the stream shall end, ``events``."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> StructType:
        """One column of keys."""
        return StructType([StructField("key", LongType())])

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader of one query."""
        return _KeyReader(dict(self.options))


class _KeyReader(NexmarkReader):
    def __init__(self, options: Mapping[str, Any]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        self._keys = OpenLoopKeys(int(given.pop("keys")), int(given["rate"]))
        super().__init__(Plan.of({**given, "preload": str(self._keys.preload)}))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The keys of a slice."""
        assert isinstance(partition, Slice)
        last = partition.first + partition.count
        for first in range(partition.first, last, _CHUNK):
            numbers = np.arange(first, min(last, first + _CHUNK), dtype=np.int64)
            yield pa.record_batch({"key": pa.array(self._keys.keys_of(numbers))})
