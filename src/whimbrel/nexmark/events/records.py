"""The three kinds of event, made from their numbers: columns, all at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.nexmark.events import ids, rules, text
from whimbrel.nexmark.events.chance import Integers, below, uniform
from whimbrel.nexmark.events.schema import AUCTION, BID, PERSON, TIME

_FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")


def persons(numbers: Integers, options: rules.Rules) -> pa.RecordBatch:
    """The person of each event number."""
    seed = options.seed
    names = pc.binary_join_element_wise(
        text.chosen(_FIRST_NAMES, numbers, seed, 1), text.chosen(_LAST_NAMES, numbers, seed, 2), " "
    )
    columns = [names, _email(numbers, seed), _credit_card(numbers, seed)]
    columns += [text.chosen(rules.CITIES, numbers, seed, 6), text.chosen(rules.STATES, numbers, seed, 7)]
    used = 16 + sum(text.lengths_of(column) for column in columns)
    extra = text.letters(numbers, seed, 8, text.padding_lengths(rules.PERSON_BYTES, used, numbers, seed, 9))
    person_ids = pa.array(rules.FIRST_PERSON + ids.last_person(numbers))
    return pa.RecordBatch.from_arrays([person_ids, *columns, times(numbers, options), extra], schema=PERSON)


def auctions(numbers: Integers, options: rules.Rules) -> pa.RecordBatch:
    """The auction of each event number."""
    seed = options.seed
    item = text.letters(numbers, seed, 11, 3 + below(18, numbers, seed, 12))
    description = text.letters(numbers, seed, 13, 3 + below(98, numbers, seed, 14))
    initial = _price(numbers, seed, 15)
    used = 56 + text.lengths_of(item) + text.lengths_of(description)
    columns = [
        pa.array(rules.FIRST_AUCTION + ids.last_auction(numbers)),
        item,
        description,
        pa.array(initial),
        pa.array(initial + _price(numbers, seed, 16)),
        times(numbers, options),
        _expiry(numbers, options),
        pa.array(ids.referred_seller(numbers, seed, 18)),
        pa.array(rules.FIRST_CATEGORY + below(rules.CATEGORIES, numbers, seed, 20)),
        text.letters(numbers, seed, 21, text.padding_lengths(rules.AUCTION_BYTES, used, numbers, seed, 22)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=AUCTION)


def bids(numbers: Integers, options: rules.Rules) -> pa.RecordBatch:
    """The bid of each event number."""
    seed = options.seed
    columns = [
        pa.array(ids.referred_auction(numbers, seed, 31)),
        pa.array(ids.referred_bidder(numbers, seed, 33)),
        pa.array(_price(numbers, seed, 35)),
        times(numbers, options),
        text.pooled_padding(rules.BID_BYTES, 32, numbers, seed, 36),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=BID)


def times_ms(numbers: Integers, options: rules.Rules) -> Integers:
    """When each event happens: the clock ticks by event number, in whole milliseconds."""
    return options.base_time_ms + numbers * 1_000 // options.rate


def times(numbers: Integers, options: rules.Rules) -> pa.Array:
    """The same instants as an Arrow column."""
    return _instants(times_ms(numbers, options))


def _instants(milliseconds: Integers) -> pa.Array:
    return pa.array(milliseconds * 1_000).cast(TIME)


def _expiry(numbers: Integers, options: rules.Rules) -> pa.Array:
    opened = times_ms(numbers, options)
    horizon = times_ms(numbers + options.horizon_events, options) - opened
    lasts = 1 + below(np.maximum(2 * horizon, 1), numbers, options.seed, 17)
    return _instants(opened + lasts)


def _price(numbers: Integers, seed: int, field: int) -> Integers:
    """Prices over six decades, in cents: as many under 10 dollars as over 10,000."""
    return np.floor(100.0 * np.power(10.0, 6.0 * uniform(numbers, seed, field)) + 0.5).astype(np.int64)


def _email(numbers: Integers, seed: int) -> pa.Array:
    user = text.letters(numbers, seed, 3, 3 + below(5, numbers, seed, 41))
    host = text.letters(numbers, seed, 4, 3 + below(3, numbers, seed, 42))
    return pc.binary_join_element_wise(user, pc.binary_join_element_wise(host, "com", "."), "@")


def _credit_card(numbers: Integers, seed: int) -> pa.Array:
    digits = text.letters(numbers, seed, 5, np.full(len(numbers), 16, dtype=np.int64), alphabet="0123456789")
    groups = [pc.utf8_slice_codeunits(digits, start, start + 4) for start in range(0, 16, 4)]
    return pc.binary_join_element_wise(*groups, " ")
