"""Who sells locally: an incremental join without bounds. Both sides stay in the state for ever."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def query(streams: Streams, settings: Settings) -> DataFrame:
    """(name, city, state, auction) of sellers in three states and auctions of category 10."""
    people = streams.person.where(sf.col("state").isin("OR", "ID", "CA")).select("id", "name", "city", "state")
    auctions = streams.auction.where("category = 10").select(sf.col("id").alias("auction"), "seller")
    return auctions.join(people, auctions.seller == people.id).select("name", "city", "state", "auction")
