"""Random instances keep the degree law, never repeat a source in a query, and replay by seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from whimbrel.model import BadInput
from whimbrel.placement import generate_instance, instance_of_json, json_of_instance
from whimbrel.placement.generator import RATE_LAWS, power_law


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize("beta", [1.0, 2.0, 3.0])
def test_every_query_reads_so_many_different_sources(beta, degree):
    made = generate_instance(2000, beta, degree, 10, rng())
    assert made.queries == 2000
    assert all(len(set(made.row(q))) == degree for q in range(made.queries))


def test_a_seed_replays_and_another_differs():
    first, again, other = (generate_instance(500, 2.0, 2, 5, rng(seed)) for seed in (4, 4, 5))
    assert json_of_instance(first) == json_of_instance(again)
    assert json_of_instance(first) != json_of_instance(other)


def test_the_number_of_sources_follows_from_the_degree_law():
    counts = [len(generate_instance(100_000, 2.0, 2, 10, rng(seed)).rates) for seed in range(12)]
    assert 15_000 < np.median(counts) < 40_000


def test_the_popularity_of_sources_is_a_power_law():
    drawn = power_law(2.0, 10_000, 200_000, rng())
    ones, twos, fours = (np.mean(drawn == x) for x in (1, 2, 4))
    assert ones / twos == pytest.approx(4, rel=0.05)
    assert twos / fours == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("sources", [2, 3, 50, 5000])
def test_a_given_number_of_sources_is_kept(sources):
    made = generate_instance(1000, 2.0, 2, 10, rng(), sources=sources)
    assert len(made.rates) == sources
    assert len(made.sources) == 2000
    assert np.bincount(made.sources).max() <= 1000


def test_a_source_that_every_query_reads_is_possible():
    made = generate_instance(300, 1.0, 3, 4, rng(), sources=3)
    assert all(made.row(q) == (0, 1, 2) for q in range(300))


def test_rates_follow_popularity_as_asked():
    for law in RATE_LAWS:
        made = generate_instance(5000, 2.0, 2, 10, rng(), rates=law)
        popularity = np.bincount(made.sources, minlength=len(made.rates))
        if law == "unit":
            assert (made.rates == 1).all()
        if law == "random":
            assert abs(spearmanr(made.rates, popularity).statistic) < 0.1
            assert made.rates.std() > 0
        if law == "positive":
            assert (made.rates == popularity).all()
        if law == "negative":
            assert np.allclose(made.rates * popularity, popularity.max())


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"queries": 0}, "queries"),
        ({"degree": 0}, "degree"),
        ({"beta": -1.0}, "beta"),
        ({"sources": 1}, "sources"),
        ({"rates": "loud"}, "rate law"),
        ({"servers": 0}, "servers"),
    ],
)
def test_impossible_sizes_are_refused_with_the_name_of_the_fault(wrong, word):
    asked = {"queries": 10, "beta": 2.0, "degree": 2, "servers": 3, "rng": rng(), **wrong}
    with pytest.raises(BadInput, match=word):
        generate_instance(**asked)


def test_an_instance_survives_json():
    value = {"rates": [1, 2.5], "queries": [[1, 0], [0]], "servers": 2, "nu": 0.25, "alpha": 0, "work": [2, 1]}
    value["capacities"] = [1, 2]
    again = json_of_instance(instance_of_json(value))
    assert again == {**value, "queries": [[0, 1], [0]], "alpha": 0.0}
