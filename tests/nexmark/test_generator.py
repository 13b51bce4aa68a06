"""The generator follows Beam's rules, and an event is a function of its number."""

from __future__ import annotations

import numpy as np
import pytest

from whimbrel.model import BadInput
from whimbrel.nexmark.events import Rules, generate
from whimbrel.nexmark.events.generator import numbers_at
from whimbrel.nexmark.events.ids import last_auction, last_person

COUNT = 200_000


@pytest.fixture(scope="module")
def events():
    return generate(0, COUNT)


def test_a_cycle_of_fifty_has_one_person_three_auctions_and_forty_six_bids(events):
    assert (events.person.num_rows, events.auction.num_rows, events.bid.num_rows) == (4_000, 12_000, 184_000)
    assert events.positions["person"][:2].tolist() == [0, 50]
    assert events.positions["auction"][:4].tolist() == [1, 2, 3, 51]


@pytest.mark.parametrize("first", [0, 7, 123_456])
def test_any_slice_made_alone_equals_the_same_slice_of_the_whole(events, first):
    whole, alone = events.interleaved(), generate(first, 500).interleaved()
    assert whole.slice(first, 500).to_pylist() == alone.to_pylist()


def test_another_seed_makes_other_events_with_the_same_ids():
    ours, other = generate(0, 5_000), generate(0, 5_000, Rules(seed=1))
    assert ours.auction.column("id") == other.auction.column("id")
    assert ours.bid.column("price") != other.bid.column("price")


def test_ids_count_from_one_thousand_without_gaps(events):
    assert events.person.column("id").to_pylist() == list(range(1000, 5000))
    assert events.auction.column("id").to_pylist() == list(range(1000, 13_000))


def test_the_newest_ids_by_the_time_of_an_event():
    numbers = np.array([0, 1, 2, 3, 4, 49, 50, 51, 54])
    assert last_person(numbers).tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert last_auction(numbers).tolist() == [-1, 0, 1, 2, 2, 2, 2, 3, 5]


def test_half_of_the_bids_go_to_the_hot_auction_and_three_quarters_come_from_the_hot_bidder(events):
    numbers = events.positions["bid"]
    hot_auction = 1000 + last_auction(numbers) // 100 * 100
    hot_bidder = 1000 + last_person(numbers) // 100 * 100 + 1
    assert np.mean(events.bid.column("auction").to_numpy() == hot_auction) == pytest.approx(0.505, abs=0.01)
    assert np.mean(events.bid.column("bidder").to_numpy() == hot_bidder) == pytest.approx(0.75, abs=0.01)


def test_cold_bids_reach_back_a_hundred_auctions_and_ten_ahead(events):
    numbers = events.positions["bid"]
    ahead = events.bid.column("auction").to_numpy() - 1000 - last_auction(numbers)
    assert ahead.min() == -100 and ahead.max() == 10


def test_sellers_are_hot_three_times_in_four_and_never_the_hot_bidder_by_design(events):
    numbers = events.positions["auction"]
    hot = 1000 + last_person(numbers) // 100 * 100
    assert np.mean(events.auction.column("seller").to_numpy() == hot) == pytest.approx(0.75, abs=0.02)


def test_prices_span_six_decades_evenly(events):
    prices = np.log10(events.bid.column("price").to_numpy())
    assert prices.min() >= 2 and prices.max() <= 8
    assert np.histogram(prices, bins=6, range=(2, 8))[0] / len(prices) == pytest.approx(np.full(6, 1 / 6), abs=0.01)


def test_about_a_hundred_auctions_are_open_at_any_time(events):
    opened = events.auction.column("dateTime").cast("int64").to_numpy()
    closes = events.auction.column("expires").cast("int64").to_numpy()
    at = opened[6_000]
    assert 70 <= np.sum((opened <= at) & (closes > at)) <= 130
    assert np.all(closes > opened)
    assert np.all(closes - opened <= 1_000 * (1 + 2 * 167))


def test_reserves_lie_above_initial_bids_and_categories_are_five(events):
    assert np.all(events.auction.column("reserve").to_numpy() > events.auction.column("initialBid").to_numpy())
    assert set(events.auction.column("category").to_pylist()) == {10, 11, 12, 13, 14}


def test_time_ticks_by_event_number(events):
    assert events.bid.column("dateTime").cast("int64")[0].as_py() == 1_436_918_400_000_000
    last = events.bid.column("dateTime").cast("int64")[-1].as_py()
    assert last == (1_436_918_400_000 + (COUNT - 1) // 10) * 1000


@pytest.mark.parametrize(("kind", "size"), [("person", 200), ("auction", 500), ("bid", 100)])
def test_events_have_the_sizes_of_the_benchmark(events, kind, size):
    rows = getattr(events, kind).slice(0, 2_000)
    texts = sum(len(str(value)) for row in rows.to_pylist() for value in row.values() if isinstance(value, str))
    numbers = 8 * sum(1 for field in rows.schema if str(field.type) != "string")
    assert texts / rows.num_rows + numbers == pytest.approx(size, rel=0.05)


def test_out_of_order_groups_are_permutations_of_themselves():
    numbers = numbers_at(np.arange(300), Rules(out_of_order=100))
    assert sorted(numbers[100:200].tolist()) == list(range(100, 200))
    assert numbers.tolist() != list(range(300))


def test_impossible_rules_are_refused():
    with pytest.raises(BadInput, match="953"):
        Rules(out_of_order=1906)
    with pytest.raises(BadInput, match="rate"):
        Rules(rate=0)
    with pytest.raises(BadInput, match="zero or more"):
        generate(-1, 5)


def test_a_million_events_take_less_than_a_few_seconds():
    import time

    begun = time.process_time()
    assert sum(generate(first, 65_536).count for first in range(0, 524_288, 65_536)) == 524_288
    assert time.process_time() - begun < 2.5
