"""The online algorithms against their transcription, with the limits that grow along the arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.placement import oracles
from tests.placement.instances import instances, plain

from whimbrel.placement import CannotPlace, PlacementInstance, faults_of, generate_instance, place
from whimbrel.placement.arrivals import prepare_arrivals
from whimbrel.placement.catalogue import ONLINE
from whimbrel.placement.errors import NonePacked
from whimbrel.placement.greedy_arrivals import place_greedily
from whimbrel.placement.known_types import place_by_known_types, plan_for_types
from whimbrel.placement.least_cost import is_pairs_case, place_pairs_by_least_cost
from whimbrel.placement.random_arrivals import TRIES, place_at_random_online
from whimbrel.placement.randomness import first_state
from whimbrel.placement.result import traffic_of


def prepared_or_none(instance):
    try:
        return prepare_arrivals(instance)
    except CannotPlace:
        return None


@pytest.mark.parametrize("name", ["least-cost", "least-source", "least-qt"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_an_online_algorithm_is_its_transcription(name, data):
    instance = data.draw(instances(most_queries=30, uneven=data.draw(st.booleans())))
    online = prepared_or_none(instance)
    if online is None:
        return
    rates, queries, work, capacities = plain(instance)
    wanted = oracles.online(rates, queries, work, capacities, instance.nu, instance.alpha, name)
    fits = (np.bincount(wanted, weights=work, minlength=len(capacities)) <= online.final).all()
    try:
        found = place(instance, name, np.random.default_rng(0))
    except NonePacked:
        assert not fits
        return
    assert not faults_of(instance, found)
    assert ("packed" in found.details) is not fits
    if fits:
        assert found.server.tolist() == wanted


@settings(max_examples=200, deadline=None)
@given(instance=instances(most_queries=60, most_servers=9, degree=2, least_degree=2))
def test_the_fast_kernel_for_pairs_is_the_transcription_too(instance):
    online = prepared_or_none(instance)
    if online is None:
        return
    assert is_pairs_case(online)
    rates, queries, work, capacities = plain(instance)
    wanted = oracles.online(rates, queries, work, capacities, instance.nu, instance.alpha, "least-cost")
    assert place_pairs_by_least_cost(online).tolist() == wanted


@pytest.mark.parametrize("servers", [3, 64, 65, 200])
@pytest.mark.parametrize("rates", ["unit", "random"])
def test_both_least_cost_kernels_agree_over_word_boundaries(servers, rates):
    instance = generate_instance(4000, 1.8, 2, servers, np.random.default_rng(servers), rates=rates)
    online = prepare_arrivals(instance)
    assert place_pairs_by_least_cost(online).tolist() == place_greedily(online, weigh_traffic=False).tolist()


@settings(max_examples=100, deadline=None)
@given(instance=instances(most_queries=25), seed=st.integers(0, 99))
def test_on_rand_is_its_transcription_on_the_same_draws(instance, seed):
    online = prepared_or_none(instance)
    if online is None:
        return
    state = first_state(np.random.default_rng(seed))
    wanted = oracles.on_rand(plain(instance)[1], instance.servers, instance.nu, instance.alpha, state, TRIES)
    assert place_at_random_online(online, np.random.default_rng(seed)).tolist() == wanted


@settings(max_examples=100, deadline=None)
@given(instance=instances(most_queries=25), seed=st.integers(0, 99))
def test_known_types_keeps_places_as_its_transcription_does(instance, seed):
    online = prepared_or_none(instance)
    if online is None:
        return
    plan = np.random.default_rng(seed).integers(0, instance.servers, instance.queries)
    rates, queries, work, capacities = plain(instance)
    types, of = oracles.types_of(queries, work)
    kept = [{} for _ in types]
    for t, j in zip(of, plan.tolist()):
        kept[t][j] = kept[t].get(j, 0) + 1
    wanted = oracles.online(rates, queries, work, capacities, instance.nu, instance.alpha, "least-cost", kept)
    assert place_by_known_types(online, instance, plan).tolist() == wanted


def test_places_kept_for_a_draw_of_the_law_serve_another_draw():
    population = generate_instance(4000, 2.0, 2, 10, np.random.default_rng(1))
    expected, arriving = (population.drawn_again(np.random.default_rng(s).integers(0, 4000, 4000)) for s in (2, 3))
    plan, _ = plan_for_types(expected, np.random.default_rng(4))
    online = prepare_arrivals(arriving)
    known = traffic_of(arriving, place_by_known_types(online, expected, plan))
    assert known < 0.97 * traffic_of(arriving, place_greedily(online, weigh_traffic=False))


def test_known_types_are_placed_wherever_the_online_limits_leave_room():
    instance = PlacementInstance.of([1], [[0], [0], [0]], servers=2, nu=0, alpha=10)
    found = place(instance, "known-types", np.random.default_rng(0))
    assert not faults_of(instance, found)


@pytest.mark.parametrize("name", ["least-cost", "least-source", "least-qt", "on-rand"])
def test_a_query_that_fits_nowhere_goes_where_it_fills_a_server_least(name):
    instance = PlacementInstance.of([1], [[0]] * 4, 2, nu=0, alpha=0, capacities=[1, 3])
    found = place(instance, name, np.random.default_rng(0))
    assert not faults_of(instance, found)
    assert "packed" not in found.details
    assert found.server.tolist() == [1, 1, 0, 1], "one query fills the larger server by a third, and the other one"


@settings(max_examples=60, deadline=None)
@given(instance=instances(most_queries=6, most_servers=3))
def test_no_online_algorithm_costs_less_than_the_optimum_under_its_limits(instance):
    rates, queries, work, _ = plain(instance)
    for name in ONLINE:
        try:
            found = place(instance, name, np.random.default_rng(1))
        except CannotPlace:
            continue
        best = oracles.optimum(rates, queries, work, found.limits.tolist())
        assert not faults_of(instance, found)
        assert found.lower_bound <= best * (1 + 1e-9) <= found.cost * (1 + 2e-9)


def test_with_alpha_zero_the_first_queries_go_to_the_least_loaded_servers():
    instance = generate_instance(40, 2.0, 2, 10, np.random.default_rng(2), alpha=0)
    found = place(instance, "least-cost", np.random.default_rng(0))
    assert sorted(found.server[:10].tolist()) == list(range(10))
    assert found.max_load <= found.limit
