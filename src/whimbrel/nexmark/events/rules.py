"""The rules of the event stream, as Beam's generator has them. An event's number decides everything in it.

Events come in cycles of 50: one person, three auctions, 46 bids. All ids start at 1000, so that a hot
id is never confused with a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from whimbrel.model.errors import BadInput

CYCLE = 50
PERSONS_PER_CYCLE = 1
AUCTIONS_PER_CYCLE = 3
FIRST_PERSON = 1000
FIRST_AUCTION = 1000
FIRST_CATEGORY = 10
CATEGORIES = 5
IN_FLIGHT_AUCTIONS = 100
ACTIVE_PERSONS = 1000
AUCTION_LEAD = 10
PERSON_LEAD = 10
HOT_GROUP = 100
"""Hot ids are the multiples of this count: the newest of them draws the crowd."""
HOT_AUCTION_RATIO = 2
HOT_BIDDER_RATIO = 4
HOT_SELLER_RATIO = 4
BASE_TIME_MS = 1_436_918_400_000
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
PERSON_BYTES = 200
AUCTION_BYTES = 500
BID_BYTES = 100
_STRIDE = 953
"""Prime, so that striding through a group visits every event of it once."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a user may change about the stream.

    ``rate`` is in events per second of event time; ``out_of_order`` is the size of the groups within which
    events arrive shuffled (1: in order). ``seed`` 0 is the stream that everybody else sees too.
    """

    seed: int = 0
    rate: int = 10_000
    out_of_order: int = 1
    base_time_ms: int = BASE_TIME_MS

    def __post_init__(self) -> None:
        if self.rate < 1:
            raise BadInput(f"the rate is {self.rate} events a second: it must be at least 1")
        if self.out_of_order < 1 or gcd(self.out_of_order, _STRIDE) != 1:
            raise BadInput(f"out-of-order groups of {self.out_of_order}: use 1 or more, and no multiple of {_STRIDE}")

    def stride(self) -> int:
        """How far apart neighbours in arrival lie within an out-of-order group."""
        return _STRIDE % self.out_of_order

    @property
    def horizon_events(self) -> int:
        """How many events open about as many auctions as are in flight at any time."""
        return IN_FLIGHT_AUCTIONS * CYCLE // AUCTIONS_PER_CYCLE
