"""Who sells locally: an incremental join without bounds.

People stay for ever; an auction waits only until its seller is known. Ids are taken to be unique.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from whimbrel.nexmark.queries.shapes import narrowed, shaped
from whimbrel.nexmark.queries.waiting import append_lists, claim_lists
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams
from whimbrel.runtime.job import Job
from whimbrel.runtime.operators.per_bin import BinsContext

TABLES = {
    "people": ("id bigint", "name string, city string, state string"),
    "waiting": ("id bigint", "auction array<bigint>"),
}
PEOPLE = narrowed("person", "id", "name", "city", "state")
AUCTIONS = narrowed("auction", "id", "auction")
OUTPUT = pa.schema([("name", pa.string()), ("city", pa.string()), ("state", pa.string()), ("auction", pa.int64())])


def query(job: Job, streams: Streams, settings: Settings) -> DataFrame:
    """(name, city, state, auction) of sellers in three states and auctions of category 10."""
    people = streams.person.where("id IS NOT NULL AND state IN ('OR', 'ID', 'CA')")
    people = people.select("id", "name", "city", "state")
    auctions = streams.auction.where("category = 10 AND seller IS NOT NULL").selectExpr("seller AS id", "id AS auction")
    schema = "name string, city string, state string, auction bigint"
    return job.binary(people, auctions, "id", "id", join, schema, tables=TABLES, name="q3")


def join(context: BinsContext) -> list[pa.RecordBatch]:
    """New people meet the auctions that wait for them, new auctions meet the people who are known."""
    people, auctions = shaped(context.rows, PEOPLE), shaped(context.others, AUCTIONS)
    known, waiting = context.table("people"), context.table("waiting")
    rows, claimed = claim_lists(waiting, people, ["auction"])
    met = [_pairs(people.take(pa.array(rows)), claimed.column("auction"))]
    known.put(people)
    places = known.find(auctions)
    met.append(_pairs(known.read(places[places >= 0]), auctions.column("auction").filter(pa.array(places >= 0))))
    append_lists(waiting, auctions.filter(pa.array(places < 0)), ["auction"])
    return met


def _pairs(people: pa.RecordBatch, auctions: pa.Array) -> pa.RecordBatch:
    columns = [people.column(name) for name in OUTPUT.names[:3]]
    return pa.RecordBatch.from_arrays([*columns, auctions], schema=OUTPUT)
