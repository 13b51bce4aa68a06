"""New sellers: a windowed join whose rows leave as soon as both sides are there, and whose state leaves with the window.

A person who has been reported is forgotten at once. Ids are taken to be unique.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.shapes import narrowed, shaped
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams, declared
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

KEY = "id bigint, opens bigint"
FIELDS = ("id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra")
SIDES = (narrowed("person", "opens", *FIELDS), narrowed("auction", "opens", "id", "dateTime"))
PERSON = declared("person").removeprefix("id bigint, ")
TABLES = {"people": (KEY, f"{PERSON}, closes bigint"), "sellers": (KEY, "closes bigint")}


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """People who opened an auction in the window in which they registered."""
    size = settings.window_ms * 1000
    opens = f"unix_micros(dateTime) - pmod(unix_micros(dateTime), {size}) AS opens"
    people = streams.person.where("id IS NOT NULL AND dateTime IS NOT NULL").selectExpr(opens, *FIELDS)
    auctions = streams.auction.where("seller IS NOT NULL AND dateTime IS NOT NULL")
    return job.binary(
        people,
        auctions.selectExpr(opens, "seller AS id", "dateTime"),
        "id",
        "id",
        partial(join, size=size),
        declared("person"),
        tables=TABLES,
        left_time="dateTime",
        right_time="dateTime",
        watermark=settings.delay,
        name="q8",
    )


def join(context: BinsContext, size: int) -> list[pa.RecordBatch]:
    """New people meet the sellers of their window, new sellers the people who wait in it."""
    watermark = context.watermark_ms * 1000
    people, sellers = context.table("people"), context.table("sellers")
    for table in (people, sellers):
        table.delete(table.below("closes", watermark + 1))
    arrived, opened = (
        _open(shaped(rows, side), watermark, size) for rows, side in zip(context.sides, SIDES, strict=True)
    )
    sellers.put(opened)
    selling = pa.array(sellers.find(arrived) >= 0)
    places = people.find(opened)
    waited = people.read(np.unique(places[places >= 0]))
    people.delete(waited)
    people.put(arrived.filter(pc.invert(selling)))
    return [arrived.filter(selling).select(list(FIELDS)), waited.select(list(FIELDS))]


def _open(rows: pa.RecordBatch, watermark: int, size: int) -> pa.RecordBatch:
    """The rows of windows that have not closed, with the time at which theirs will."""
    closes = pc.add(rows.column("opens"), size)
    return rows.append_column("closes", closes).filter(pc.greater(closes, watermark))
