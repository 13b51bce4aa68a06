"""An operator put into a streaming query: heartbeat, router, shuffle, host. Public Spark API only.

The result is an ordinary streaming DataFrame.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from whimbrel.model.errors import BadInput
from whimbrel.runtime.heartbeat import FORMAT, Heartbeat
from whimbrel.runtime.host import Host
from whimbrel.runtime.operator import Operator
from whimbrel.runtime.packing import ROUTED_DDL
from whimbrel.runtime.place import JobPlace
from whimbrel.runtime.router import Router


def install(
    spark: SparkSession, place: JobPlace, operator: Operator, inputs: Sequence[DataFrame], output_mode: str
) -> DataFrame:
    """The operator's result over its input streams, one per side."""
    for stream in inputs:
        if not stream.isStreaming:
            raise BadInput(f"operator {operator.name!r} needs a streaming DataFrame: read it with spark.readStream")
    check_serialisable(operator)
    narrowed = [
        stream.select(*(fn.col(f"`{column}`") for column in side.columns))
        for stream, side in zip(inputs, operator.sides, strict=True)
    ]
    routed = _routed(spark, place, operator, narrowed)
    if operator.delay is not None and any(side.delay is None for side in operator.sides):
        routed = routed.withWatermark("event_time", operator.delay)
    grouped = routed.groupBy("slot_token")
    return grouped.transformWithStateInPandas(Host(place, operator), operator.output, output_mode, operator.time_mode)


def check_serialisable(operator: Operator) -> None:
    """BadInput where the user's function cannot travel to the workers."""
    from pyspark import cloudpickle

    try:
        cloudpickle.dumps(operator)
    except Exception as error:
        raise BadInput(
            f"operator {operator.name!r} cannot be sent to the workers ({error}): its function must not hold a Spark "
            "session, an open file, a lock or a connection; open those inside the function"
        ) from None


def _routed(spark: SparkSession, place: JobPlace, operator: Operator, streams: Sequence[DataFrame]) -> DataFrame:
    """Every input routed by itself. Where each has a watermark of its own Spark goes by the slowest of them.

    One union of routers is one stage: its first task is still the one that calls the slots.
    """
    routed = None
    for number, (stream, side) in enumerate(zip(streams, operator.sides, strict=True)):
        beating = stream.union(_heartbeat(spark, place, operator, stream.schema)) if number == 0 else stream
        mine = beating.mapInArrow(Router(place, operator, number), ROUTED_DDL)
        if side.delay is not None:
            mine = mine.withWatermark("event_time", side.delay)
        routed = mine if routed is None else routed.union(mine)
    assert routed is not None
    return routed


def _heartbeat(spark: SparkSession, place: JobPlace, operator: Operator, schema: StructType) -> DataFrame:
    spark.dataSource.register(Heartbeat)
    reader = spark.readStream.format(FORMAT).schema(schema).option("directory", place.directory)
    reader = reader.option("tick_ms", str(operator.tick_ms))
    return reader.option("event_time", str(operator.delay is not None).lower()).load()
