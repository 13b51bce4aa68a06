"""The streams of the key benchmarks: deterministic functions of a row's number, so the answer can be recomputed.

The same numbers are made by Spark for the systems and by numpy for the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCRAMBLE = 2_654_435_761
_CYCLE = 1 << 32
_SHIFT_CYCLE = 1_000_003


@dataclass(frozen=True, slots=True)
class KeyStream:
    """``keys`` distinct keys; ``skew`` "uniform" or "zipf" (a uniform key halved 0 to log2(keys) times:
    log-uniform, as Zipf's law with exponent 1, and exact in integers); ``kind`` "long" or "string"."""

    keys: int
    rows_per_epoch: int
    skew: str = "uniform"
    kind: str = "long"
    partitions: int = 2

    @property
    def _octaves(self) -> int:
        return self.keys.bit_length()

    def read(self, spark: SparkSession) -> DataFrame:
        """A streaming DataFrame with the one column ``key``."""
        from pyspark.sql import functions as fn

        source = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", str(self.rows_per_epoch))
            .option("numPartitions", str(self.partitions))
            .load()
        )
        scrambled = (fn.col("value") * fn.lit(_SCRAMBLE)) % fn.lit(_CYCLE)
        key: Any = scrambled % fn.lit(self.keys)
        if self.skew == "zipf":
            octave = (fn.col("value") % fn.lit(_SHIFT_CYCLE)) % fn.lit(self._octaves)
            key = fn.floor(key / fn.pow(fn.lit(2), octave))
        return source.select((key.cast("string") if self.kind == "string" else key.cast("long")).alias("key"))

    def counts(self, rows: int) -> npt.NDArray[np.int64]:
        """How often each key occurs in the first ``rows`` rows: the oracle."""
        total = np.zeros(self.keys, np.int64)
        for start in range(0, rows, 1 << 24):
            numbers = np.arange(start, min(rows, start + (1 << 24)), dtype=np.int64)
            scrambled = (numbers * _SCRAMBLE) % _CYCLE
            key = scrambled % self.keys
            if self.skew == "zipf":
                key >>= (numbers % _SHIFT_CYCLE) % self._octaves
            total += np.bincount(key, minlength=self.keys)
        return total
