"""Which ids exist by the time of an event, and which of them an event refers to.

Half of the bids go to one hot auction and three quarters of bids and auctions come from one hot person;
the rest reach back over what is in flight, and a little ahead of it.
"""

from __future__ import annotations

import numpy as np

from whimbrel.nexmark.events import rules
from whimbrel.nexmark.events.chance import Integers, below


def last_person(numbers: Integers) -> Integers:
    """The newest person, counted from 0, when each event happens."""
    return numbers // rules.CYCLE


def last_auction(numbers: Integers) -> Integers:
    """The newest auction, counted from 0, when each event happens; -1 before the first."""
    cycle, offset = np.divmod(numbers, rules.CYCLE)
    within = np.minimum(offset - rules.PERSONS_PER_CYCLE, rules.AUCTIONS_PER_CYCLE - 1)
    return cycle * rules.AUCTIONS_PER_CYCLE + within


def referred_auction(numbers: Integers, seed: int, field: int) -> Integers:
    """The auction that each bid is for."""
    last = last_auction(numbers)
    oldest = np.maximum(last - rules.IN_FLIGHT_AUCTIONS, 0)
    cold = oldest + below(last - oldest + 1 + rules.AUCTION_LEAD, numbers, seed, field)
    hot = below(rules.HOT_AUCTION_RATIO, numbers, seed, field + 1) > 0
    return rules.FIRST_AUCTION + np.where(hot, last // rules.HOT_GROUP * rules.HOT_GROUP, cold)


def referred_bidder(numbers: Integers, seed: int, field: int) -> Integers:
    """The person who makes each bid: the hot one is next to the hot seller, never the same."""
    hot = below(rules.HOT_BIDDER_RATIO, numbers, seed, field + 1) > 0
    hottest = last_person(numbers) // rules.HOT_GROUP * rules.HOT_GROUP + 1
    return rules.FIRST_PERSON + np.where(hot, hottest, _cold_person(numbers, seed, field))


def referred_seller(numbers: Integers, seed: int, field: int) -> Integers:
    """The person who opens each auction."""
    hot = below(rules.HOT_SELLER_RATIO, numbers, seed, field + 1) > 0
    hottest = last_person(numbers) // rules.HOT_GROUP * rules.HOT_GROUP
    return rules.FIRST_PERSON + np.where(hot, hottest, _cold_person(numbers, seed, field))


def _cold_person(numbers: Integers, seed: int, field: int) -> Integers:
    people = last_person(numbers) + 1
    active = np.minimum(people, rules.ACTIVE_PERSONS)
    return people - active + below(active + rules.PERSON_LEAD, numbers, seed, field)
