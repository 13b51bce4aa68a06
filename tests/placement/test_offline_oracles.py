"""The offline algorithms against their transcription, and against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.placement import oracles
from tests.placement.instances import instances, plain

from whimbrel.placement import CannotPlace, PlacementInstance, faults_of, place
from whimbrel.placement.catalogue import OFFLINE
from whimbrel.placement.incremental_cost import place_by_incremental_cost
from whimbrel.placement.min_max_server import place_by_server_traffic
from whimbrel.placement.minimum_packing import place_by_minimum_packing
from whimbrel.placement.partitioner import Effort, place_by_partitioner
from whimbrel.placement.random_offline import place_at_random_offline
from whimbrel.placement.rounds import TYPE_ORDERS, prepare

QUICK = Effort(per_piece=50, least=500, most=2000)


def prepared_or_none(instance, order):
    try:
        return prepare(instance, order, np.random.default_rng(5))
    except CannotPlace:
        return None


def placed_or_none(run):
    try:
        return run().tolist()
    except CannotPlace:
        return None


@pytest.mark.parametrize("name", ["ic", "mms", "mqp-theta", "mqp-limit"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_an_offline_algorithm_is_its_transcription(name, data):
    instance = data.draw(instances(uneven=data.draw(st.booleans())))
    offline = prepared_or_none(instance, data.draw(st.sampled_from(TYPE_ORDERS)))
    if offline is None:
        return
    rates, queries, work, _ = plain(instance)
    limits, rank = offline.limits.tolist(), offline.rank.tolist()
    if name == "ic":
        wanted, run = oracles.ic(rates, queries, work, limits, rank), lambda: place_by_incremental_cost(offline)
    elif name == "mms":
        wanted, run = oracles.mms(rates, queries, work, limits, rank), lambda: place_by_server_traffic(offline)
    else:
        fill = name.removeprefix("mqp-")
        wanted = oracles.mqp(queries, work, limits, rank, fill)
        run = lambda: place_by_minimum_packing(offline, fill)  # noqa: E731
    assert placed_or_none(run) == wanted


@settings(max_examples=100, deadline=None)
@given(instance=instances(degree=1))
def test_single_source_is_figure_1_of_the_paper_and_keeps_its_bound(instance):
    offline = prepared_or_none(instance, "arrival")
    if offline is None:
        return
    rates, queries, _, _ = plain(instance)
    found = place(instance, "single-source", np.random.default_rng(0))
    assert found.server.tolist() == oracles.single_source(rates, queries, offline.limits.tolist())
    if len(set(rates)) == 1:
        used = len(np.unique(instance.sources))
        assert found.cost <= (used + instance.servers) * rates[0]


@settings(max_examples=100, deadline=None)
@given(instance=instances(degree=1, most_queries=7, most_servers=3))
def test_single_source_costs_at_most_twice_the_optimum(instance):
    if prepared_or_none(instance, "arrival") is None:
        return
    rates, queries, work, capacities = plain(instance)
    best = oracles.optimum(rates, queries, work, oracles.offline_limits(sum(work), capacities, instance.nu))
    found = place(instance, "single-source", np.random.default_rng(0))
    assert best <= found.cost * (1 + 1e-9) <= 2 * best * (1 + 2e-9)


@settings(max_examples=100, deadline=None)
@given(instance=instances(), seed=st.integers(0, 99))
def test_off_rand_is_its_transcription_on_the_same_draws(instance, seed):
    offline = prepared_or_none(instance, "arrival")
    if offline is None:
        return
    draws = np.random.default_rng(seed).random((offline.rounds_max, 2)).tolist()
    found = place_at_random_offline(offline, np.random.default_rng(seed)).tolist()
    assert found == oracles.off_rand(plain(instance)[1], offline.limits.tolist(), draws)


@settings(max_examples=60, deadline=None)
@given(instance=instances(most_queries=6, most_servers=3))
def test_no_offline_algorithm_costs_less_than_the_optimum_nor_more_than_its_bound(instance):
    rates, queries, work, capacities = plain(instance)
    limits = oracles.offline_limits(sum(work), capacities, instance.nu)
    best = oracles.optimum(rates, queries, work, limits)
    for name in OFFLINE:
        if name == "single-source" and instance.degree_max > 1:
            continue
        try:
            found = place(instance, name, np.random.default_rng(1), {"solver": "own", "effort": QUICK})
        except CannotPlace:
            assert best is None
            continue
        assert best is not None
        assert not faults_of(instance, found)
        assert found.lower_bound <= best * (1 + 1e-9), "the bound must hold for the optimum"
        assert best <= found.cost * (1 + 1e-9)
        assert found.cost <= instance.servers * best * (1 + 1e-9)
        if name == "mqp" and instance.degree_max > 1:
            spread = max(rates) / min(rates)
            ratio = 2 * instance.degree_max * (math.log(instance.servers) + 1) * spread
            assert found.cost <= ratio * best * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(instance=instances(most_queries=6, most_servers=3, uneven=True))
def test_the_partitioner_places_unequal_work_on_unequal_servers(instance):
    rates, queries, work, capacities = plain(instance)
    limits = oracles.offline_limits(sum(work), capacities, instance.nu)
    try:
        found = place(instance, "partitioner", np.random.default_rng(1), {"solver": "own", "effort": QUICK})
    except CannotPlace:
        return
    assert not faults_of(instance, found)
    assert found.limits.tolist() == limits
    assert found.lower_bound <= oracles.optimum(rates, queries, work, limits) * (1 + 1e-9)


def test_the_partitioner_finds_the_optimum_of_two_separate_groups():
    queries = [[0, 1], [2, 3]] * 20
    instance = PlacementInstance.of([1, 1, 1, 1], queries, 2, nu=0)
    server, _ = place_by_partitioner(instance, np.random.default_rng(0), "own")
    assert len(set(server[::2].tolist())) == 1
    assert len(set(server[1::2].tolist())) == 1


def test_the_partitioner_repeats_itself_for_a_seed():
    from whimbrel.placement import generate_instance

    instance = generate_instance(3000, 2.0, 2, 12, np.random.default_rng(3))
    first = place(instance, "partitioner", np.random.default_rng(8), {"solver": "own"})
    again = place(instance, "partitioner", np.random.default_rng(8), {"solver": "own"})
    assert first.server.tolist() == again.server.tolist()
    assert not faults_of(instance, first)
    ic = place(instance, "ic", np.random.default_rng(8))
    assert first.cost < 0.95 * ic.cost
