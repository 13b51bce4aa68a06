"""The three kinds of event as DataFrames, streaming or batch: what every query starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whimbrel.nexmark.events.schema import KINDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class Streams:
    """``events`` has one row per event, with exactly one of three structs; the others are its three kinds, flat."""

    events: DataFrame
    person: DataFrame
    auction: DataFrame
    bid: DataFrame

    @staticmethod
    def of(events: DataFrame) -> Streams:
        """The three kinds of one stream of events."""
        kinds = {kind: events.where(f"{kind} IS NOT NULL").select(f"{kind}.*") for kind in KINDS}
        return Streams(events, kinds["person"], kinds["auction"], kinds["bid"])

    def watermarked(self, delay: str) -> Streams:
        """The same, with a watermark on ``dateTime`` of each kind."""
        kinds = [frame.withWatermark("dateTime", delay) for frame in (self.person, self.auction, self.bid)]
        return Streams(self.events, *kinds)


def spark_schema(kind: str | None = None) -> StructType:
    """The Spark schema of one kind, or of the stream of events."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

    if kind is None:
        return StructType([StructField(each, spark_schema(each)) for each in KINDS])
    types = {"int64": LongType(), "string": StringType()}
    return StructType([StructField(each.name, types.get(str(each.type), TimestampType())) for each in KINDS[kind]])


def declared(kind: str, **changed: str) -> str:
    """The columns of a kind as Spark DDL, some of them with another type."""
    types = {field.name: field.dataType.simpleString() for field in spark_schema(kind)}
    return ", ".join(f"{name} {each}" for name, each in {**types, **changed}.items())
