"""What a NEXMark query is fed for a timeline: one open-loop source per kind that it reads, after a preload.

A kind that a query does not read is never made, so tens of millions of events fill its state within seconds. All
that is fed can be said again as tables, for the reference answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events.generator import CHUNK, generate_kind
from whimbrel.nexmark.events.rules import Rules
from whimbrel.nexmark.events.schema import KINDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whimbrel.nexmark.settings import Settings as QuerySettings
    from whimbrel.nexmark.streams import Streams

_LARGE_COLUMNS = ("itemName", "description")


@dataclass(frozen=True, slots=True)
class Shape:
    """How a query comes to hold much state.

    ``kinds`` are those that it reads. ``longer`` stretches the life of auctions: the generator keeps about a hundred
    open at any rate. Where it is above 1 the bids before the preload's end are left out: they would change nothing
    but the best price of auctions that stay open.
    """

    kinds: tuple[str, ...]
    preload: int
    window: str = "10 seconds"
    slide: str = "10 seconds"
    longer: int = 1

    def settings(self) -> QuerySettings:
        """The query's own settings."""
        from whimbrel.model.durations import milliseconds
        from whimbrel.nexmark.settings import Settings as QuerySettings

        return QuerySettings(window_ms=milliseconds(self.window), slide_ms=milliseconds(self.slide))


SHAPES = {
    "q3": Shape(("person", "auction"), 40_000_000),
    "q4": Shape(("auction", "bid"), 20_000_000, longer=12_000),
    "q5": Shape(("bid",), 6_000_000, window="10 minutes", slide="20 seconds"),
    "q6": Shape(("auction", "bid"), 20_000_000, longer=12_000),
    "q7": Shape(("bid",), 1_000_000),
    "q8": Shape(("person", "auction"), 40_000_000, window="12 hours", slide="12 hours"),
}
"""Every query with state."""


def shape_of(query: str) -> Shape:
    """The shape of a query; BadInput where it has no state to move."""
    if query not in SHAPES:
        raise BadInput(f"there is no timeline of {query!r}: choose one of {', '.join(SHAPES)}")
    return SHAPES[query]


@dataclass(frozen=True, slots=True)
class Feed:
    """``preload`` events are due at once, then ``rate`` a second; ``event_rate`` of them are a second of event time."""

    shape: Shape
    preload: int
    rate: int
    event_rate: int = 10_000

    def streams(self, spark: SparkSession, until: int | None = None) -> Streams:
        """The three kinds as streams; with ``until`` they end after that event."""
        from whimbrel.nexmark.source import register
        from whimbrel.nexmark.streams import Streams

        register(spark)
        person, auction, bid = (self._stream(spark, kind, until) for kind in KINDS)
        return Streams(bid, person, self._living_longer(auction), bid)

    def due_ms(self, numbers: Any, started_ms: float) -> Any:
        """When events were due, on the clock on which the source started at ``started_ms``."""
        from whimbrel.nexmark.events.schedule import Schedule

        due_us = Schedule.flat(self.rate).due_us(np.maximum(numbers - self.preload, 0))
        return (started_ms + due_us / 1000).astype(np.int64)

    def due_by(self, at_ms: float, started_ms: float) -> int:
        """How many events were due at a moment of the same clock."""
        from whimbrel.nexmark.events.schedule import Schedule

        return self.preload + int(Schedule.flat(self.rate).due_by(int((at_ms - started_ms) * 1000)))

    def tables(self, until: int) -> dict[str, pa.Table]:
        """All that the streams have sent by event ``until``, without the padding that no query with state gives out."""
        return {kind: self._table(kind, until) for kind in KINDS}

    def _first(self, kind: str) -> int:
        return self.preload if kind == "bid" and self.shape.longer > 1 else 0

    def _stream(self, spark: SparkSession, kind: str, until: int | None) -> DataFrame:
        options = {"kind": kind, "rate": self.rate, "preload": self.preload, "eventRate": self.event_rate}
        options |= {"first": self._first(kind), "partitions": max(1, 2 // len(self.shape.kinds))}
        options |= {} if until is None else {"events": until}
        rows = spark.readStream.format("nexmark").options(**options).load()
        return rows.select(*KINDS[kind].names)

    def _living_longer(self, auctions: DataFrame) -> DataFrame:
        from pyspark.sql import functions as fn

        opened, life = "unix_micros(dateTime)", "(unix_micros(expires) - unix_micros(dateTime))"
        longer = fn.expr(f"timestamp_micros({opened} + {life} * {self.shape.longer}L)")
        return auctions if self.shape.longer == 1 else auctions.withColumn("expires", longer)

    def _table(self, kind: str, until: int) -> pa.Table:
        rules, first = Rules(rate=self.event_rate), self._first(kind)
        if kind not in self.shape.kinds:
            return KINDS[kind].empty_table()
        dropped = _LARGE_COLUMNS + (("extra",) if kind == "auction" else ())
        parts = [
            generate_kind(kind, start, min(CHUNK, until - start), rules)[0].drop_columns(
                [name for name in dropped if name in KINDS[kind].names]
            )
            for start in range(first, until, CHUNK)
        ]
        table = pa.Table.from_batches(parts)
        return self._table_living_longer(table) if kind == "auction" else table

    def _table_living_longer(self, auctions: pa.Table) -> pa.Table:
        opened, expires = (auctions.column(name).cast(pa.int64()) for name in ("dateTime", "expires"))
        longer = pc.add(opened, pc.multiply(pc.subtract(expires, opened), self.shape.longer))
        at = auctions.schema.get_field_index("expires")
        return auctions.set_column(at, "expires", longer.cast(auctions.schema.field("expires").type))
