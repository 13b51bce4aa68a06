"""The expected traffic of random placement is the mean over all placements."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.placement import oracles
from tests.placement.instances import instances, plain

from whimbrel.placement import generate_instance, place
from whimbrel.placement.random_benchmark import expected_random_traffic


@settings(max_examples=40, deadline=None)
@given(instance=instances(most_queries=5, most_servers=3, uneven=True))
def test_the_expectation_is_the_mean_over_all_placements_by_their_chances(instance):
    rates, queries, _, capacities = plain(instance)
    wanted = 0.0
    for server in itertools.product(range(len(capacities)), repeat=len(queries)):
        chance = float(np.prod([capacities[j] / sum(capacities) for j in server]))
        wanted += chance * oracles.traffic(rates, queries, server)
    assert expected_random_traffic(instance) == pytest.approx(wanted)


def test_a_random_placement_comes_near_its_expectation():
    instance = generate_instance(20_000, 2.0, 2, 20, np.random.default_rng(4))
    found = place(instance, "on-rand", np.random.default_rng(5))
    assert found.cost == pytest.approx(found.random_cost, rel=0.02)
