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
    options = options or rules.Rules()
    numbers, where = _sorted_by_kind(first, count, options)
    person, auction, bid = (_MAKERS[kind](numbers[where[kind]], options) for kind in ("person", "auction", "bid"))
    return Events(person, auction, bid, where)


def generate_kind(
    kind: str, first: int, count: int, options: rules.Rules | None = None
) -> tuple[pa.RecordBatch, Integers]:
    """One kind alone of the same slice, and where in the slice each row arrives: the other kinds cost nothing.

    >>> generate_kind("person", 0, 100)[1].tolist()
    [0, 50]
    """
    options = options or rules.Rules()
    numbers, where = _sorted_by_kind(first, count, options)
    return _MAKERS[kind](numbers[where[kind]], options), where[kind]


_MAKERS = {"person": records.persons, "auction": records.auctions, "bid": records.bids}


def _sorted_by_kind(first: int, count: int, options: rules.Rules) -> tuple[Integers, dict[str, Integers]]:
    """The events' numbers, and where each kind is among them."""
    if first < 0 or count < 0:
        raise BadInput(f"{count} events from {first}: both must be zero or more")
    numbers = numbers_at(np.arange(first, first + count, dtype=np.int64), options)
    offset = numbers % rules.CYCLE
    is_person = offset < rules.PERSONS_PER_CYCLE
    is_bid = offset >= rules.PERSONS_PER_CYCLE + rules.AUCTIONS_PER_CYCLE
    found = {"person": is_person, "auction": ~is_person & ~is_bid, "bid": is_bid}
    return numbers, {kind: np.flatnonzero(chosen) for kind, chosen in found.items()}


def chunks(first: int, count: int, options: rules.Rules, size: int = CHUNK) -> Iterator[Events]:
    """The same events in slices of at most ``size``."""
    for start in range(first, first + count, size):
        yield generate(start, min(size, first + count - start), options)


def numbers_at(positions: Integers, options: rules.Rules) -> Integers:
    """The number of the event that arrives at each position."""
    size = options.out_of_order
    group, within = np.divmod(positions, size)
    return group * size + within * options.stride() % size
