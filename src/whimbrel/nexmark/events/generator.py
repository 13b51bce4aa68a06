"""The stream of events: any slice of it, as Arrow tables.

Positions count arrivals, numbers count events; the two differ only inside out-of-order groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whimbrel.model.errors import BadInput
from whimbrel.nexmark.events import records, rules
from whimbrel.nexmark.events.chance import Integers
from whimbrel.nexmark.events.schema import EVENT

CHUNK = 65_536
"""Events made at once: small enough to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Events:
    """A slice of the stream. ``positions[kind]`` says where in the slice each row arrives."""

    person: pa.RecordBatch
    auction: pa.RecordBatch
    bid: pa.RecordBatch
    positions: dict[str, Integers]

    @property
    def count(self) -> int:
        """How many events the slice has."""
        return int(self.person.num_rows + self.auction.num_rows + self.bid.num_rows)

    def interleaved(self) -> pa.RecordBatch:
        """One row per event in order of arrival, in the shape of EVENT."""
        columns = []
        for kind in EVENT.names:
            rows = getattr(self, kind)
            place = np.full(self.count, -1, dtype=np.int64)
            place[self.positions[kind]] = np.arange(rows.num_rows)
            columns.append(rows.to_struct_array().take(pa.array(place, mask=place < 0)))
        return pa.RecordBatch.from_arrays(columns, schema=EVENT)


def generate(first: int, count: int, options: rules.Rules | None = None) -> Events:
    """The ``count`` events that arrive from position ``first`` on. Raises BadInput where either is negative.

    >>> generate(0, 50).bid.num_rows
    46
    """
    if first < 0 or count < 0:
        raise BadInput(f"{count} events from {first}: both must be zero or more")
    options = options or rules.Rules()
    numbers = numbers_at(np.arange(first, first + count, dtype=np.int64), options)
    offset = numbers % rules.CYCLE
    is_person = offset < rules.PERSONS_PER_CYCLE
    is_bid = offset >= rules.PERSONS_PER_CYCLE + rules.AUCTIONS_PER_CYCLE
    where = {
        "person": np.flatnonzero(is_person),
        "auction": np.flatnonzero(~is_person & ~is_bid),
        "bid": np.flatnonzero(is_bid),
    }
    return Events(
        records.persons(numbers[where["person"]], options),
        records.auctions(numbers[where["auction"]], options),
        records.bids(numbers[where["bid"]], options),
        where,
    )


def chunks(first: int, count: int, options: rules.Rules, size: int = CHUNK) -> Iterator[Events]:
    """The same events in slices of at most ``size``."""
    for start in range(first, first + count, size):
        yield generate(start, min(size, first + count - start), options)


def numbers_at(positions: Integers, options: rules.Rules) -> Integers:
    """The number of the event that arrives at each position."""
    size = options.out_of_order
    group, within = np.divmod(positions, size)
    return group * size + within * options.stride() % size
