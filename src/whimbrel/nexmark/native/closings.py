"""Closed auctions with their prices, natively: a stream-stream join, then a maximum per auction.

The watermark of the auctions runs on ``expires``, so that append mode gives an auction's price when it closes.
Nothing bounds how long before its auction's end a bid may come, so the join keeps every bid for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams


def closings(streams: Streams, settings: Settings) -> DataFrame:
    """(id, seller, category, expires, final) of every auction that found a price, once it has closed."""
    auctions = streams.auction.select("id", "seller", "category", "reserve", "expires")
    auctions = auctions.withWatermark("expires", settings.delay)
    bids = streams.bid.where("price IS NOT NULL").withWatermark("dateTime", settings.delay)
    valid = (bids.auction == auctions.id) & (bids.dateTime < auctions.expires)
    if not settings.ignore_reserve:
        valid = valid & (bids.price >= auctions.reserve)
    won = auctions.join(bids, valid)
    return won.groupBy("id", "seller", "category", "expires").agg(sf.max("price").alias("final"))


def running_average(closed: DataFrame, key: str, last: int | None) -> DataFrame:
    """Per key the average of its (``last``) final prices, once per closing, in the order of closing."""
    schema = f"{key} long, average double, auctions long"
    return (
        closed.where(sf.col(key).isNotNull())
        .groupBy(key)
        .transformWithStateInPandas(RunningAverage(key, last), schema, outputMode="Append", timeMode="None")
    )


class RunningAverage(StatefulProcessor):
    """Keeps the sum and count of all prices, or the last few of them."""

    def __init__(self, key: str, last: int | None) -> None:
        self._key = key
        self._last = last

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the one value that each key has."""
        self._seen = handle.getValueState("seen", "auctions long, total long, prices array<long>")

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        """Adds the closings of this epoch, the earliest first."""
        closed = pd.concat(list(rows)).sort_values(["expires", "id"])
        auctions, total, prices = self._seen.get() if self._seen.exists() else (0, 0, [])
        prices, averages = list(prices), []
        for final in closed["final"].tolist():
            auctions, total = auctions + 1, total + final
            prices = [*prices, final][-self._last :] if self._last else []
            averages.append((key[0], sum(prices) / len(prices) if prices else total / auctions, auctions))
        self._seen.update((auctions, total, prices))
        yield pd.DataFrame(averages, columns=[self._key, "average", "auctions"])

    def close(self) -> None:
        """Nothing to release."""
