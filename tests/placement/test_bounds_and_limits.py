"""Limits are exact, bounds hold, and what cannot be placed is said to be so."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from tests.placement import oracles
from tests.placement.instances import instances, plain

from whimbrel.placement import CannotPlace, PlacementInstance, faults_of, generate_instance, place
from whimbrel.placement.bounds import lower_bound
from whimbrel.placement.capacity import absolute_slack, offline_limits, online_limits, require_room, switch_over_work
from whimbrel.placement.errors import NonePacked


@settings(max_examples=150, deadline=None)
@given(instance=instances(uneven=True))
def test_limits_are_the_floor_of_the_exact_ratio(instance):
    _, _, work, capacities = plain(instance)
    assert offline_limits(instance).tolist() == oracles.offline_limits(sum(work), capacities, instance.nu)
    wanted = [oracles.online_limit(sum(work), c, sum(capacities), instance.nu, instance.alpha) for c in capacities]
    assert online_limits(instance).tolist() == wanted


def test_a_limit_that_floats_would_miss_by_one_is_met():
    instance = PlacementInstance.of([1.0], [[0]] * 100, 11, nu="0.1")
    assert offline_limits(instance).tolist() == [10] * 11


@settings(max_examples=80, deadline=None)
@given(instance=instances(most_queries=6, most_servers=3, uneven=True))
def test_the_lower_bound_never_exceeds_the_optimum(instance):
    rates, queries, work, _ = plain(instance)
    limits = offline_limits(instance)
    best = oracles.optimum(rates, queries, work, limits.tolist())
    if best is not None:
        assert lower_bound(instance, limits) <= best * (1 + 1e-9)


def test_the_sharing_bound_beats_counting_where_popular_sources_meet():
    queries = [[i, j] for i in range(5) for j in range(i) for _ in range(4)]
    instance = PlacementInstance.of([1] * 5, queries, 2, nu=0)
    counting = 5
    assert lower_bound(instance, offline_limits(instance)) == pytest.approx(40 * 2 / 12)
    assert 40 * 2 / 12 > counting


def test_the_bound_is_met_where_groups_are_separate():
    instance = PlacementInstance.of([1, 2, 3], [[0]] * 5 + [[1]] * 5 + [[2]] * 5, 3, nu=0)
    found = place(instance, "partitioner", np.random.default_rng(0), {"solver": "own"})
    assert found.cost == found.lower_bound == 6
    assert found.gap == 0


def test_too_little_room_is_an_answer_with_the_slack_that_would_do():
    instance = PlacementInstance.of([1], [[0]] * 3, 2, nu=0, alpha=0)
    for algorithm in ("ic", "mms", "mqp", "off-rand", "partitioner", "least-cost", "on-rand"):
        with pytest.raises(CannotPlace) as refusal:
            place(instance, algorithm, np.random.default_rng(0))
        assert refusal.value.smallest_nu == pytest.approx(1 / 3)
    enough = PlacementInstance.of([1], [[0]] * 3, 2, nu=refusal.value.smallest_nu, alpha=0)
    assert place(enough, "ic", np.random.default_rng(0)).max_load == 2


def least_nu_by_trying(instance):
    """Every nu at which some server gains a unit, ascending, until there is room."""
    _, _, work, capacities = plain(instance)
    total, whole = sum(work), sum(capacities)
    steps = {Fraction(i * whole, total * c) - 1 for c in capacities for i in range(1, 2 * total + 2)}
    return next(
        nu
        for nu in sorted({Fraction(0), *steps})
        if nu >= 0
        and sum(oracles.offline_limits(total, capacities, nu)) >= total
        and max(oracles.offline_limits(total, capacities, nu)) >= max(work)
    )


@settings(max_examples=150, deadline=None)
@given(instance=instances(most_servers=9, uneven=True, nus=("0",)))
def test_the_smallest_nu_is_the_first_at_which_there_is_room(instance):
    try:
        require_room(instance, offline_limits(instance))
    except CannotPlace as refusal:
        assert refusal.smallest_nu == pytest.approx(float(least_nu_by_trying(instance)))
        enough = replace(instance, nu=PlacementInstance.of([1], [[0]], 1, nu=refusal.smallest_nu).nu)
        require_room(enough, offline_limits(enough))


def test_servers_that_gain_room_late_count_for_the_smallest_nu():
    instance = PlacementInstance.of([1], [[0]] * 102, 4, nu=0, capacities=[201, 1, 1, 1])
    with pytest.raises(CannotPlace) as refusal:
        place(instance, "ic", np.random.default_rng(0))
    assert refusal.value.smallest_nu == pytest.approx(102 / 100.5 - 1)


def test_more_servers_than_queries_is_an_answer_with_a_slack_too():
    instance = PlacementInstance.of([1], [[0]] * 3, 5, nu=0)
    with pytest.raises(CannotPlace) as refusal:
        place(instance, "mms", np.random.default_rng(0))
    assert refusal.value.smallest_nu == pytest.approx(5 / 3 - 1)
    assert refusal.value.proved


def test_work_that_an_algorithm_leaves_over_is_packed_heaviest_first():
    instance = PlacementInstance.of([1, 1], [[0], [0], [1], [1]], 2, nu=0, work=[1, 2, 1, 2])
    found = place(instance, "ic", np.random.default_rng(0), {"order": "larger-first"})
    assert not faults_of(instance, found)
    uneven = PlacementInstance.of([1, 1], [[0], [0], [0], [1]], 2, nu=0, alpha=0, work=[1, 1, 1, 3])
    for name in ("ic", "mms", "mqp", "off-rand", "least-cost", "on-rand", "partitioner"):
        assert not faults_of(uneven, place(uneven, name, np.random.default_rng(0)))


def test_work_that_no_packing_was_found_for_is_not_said_to_be_impossible():
    instance = PlacementInstance.of([1], [[0]] * 3, 2, nu=0, alpha=0, work=[2, 2, 2])
    with pytest.raises(NonePacked) as refusal:
        place(instance, "ic", np.random.default_rng(0))
    assert not refusal.value.proved
    assert "not proved" in str(refusal.value)


def test_random_placement_overflows_with_the_absolute_slack_no_more_often_than_said():
    servers, nu, epsilon = 10, 0.5, 0.2
    alpha = absolute_slack(servers, nu, epsilon)
    arrivals = round(alpha * servers / nu)
    loads = np.random.default_rng(3).multinomial(arrivals, [1 / servers] * servers, size=2000)
    assert (loads.max(axis=1) > arrivals / servers + alpha).mean() <= epsilon
    assert absolute_slack(servers, nu, epsilon / 10) > alpha


def test_the_switch_over_is_where_both_limits_meet():
    instance = PlacementInstance.of([1], [[0]] * 10, 4, nu="0.05", alpha=10)
    assert switch_over_work(instance) == Fraction(10 * 4 * 20)
    assert absolute_slack(100, 0.05, 0.01) > 100 / 0.1


def test_a_type_order_changes_the_traffic_and_is_reported():
    instance = generate_instance(20_000, 2.0, 2, 50, np.random.default_rng(1))
    costs = {}
    for order in ("larger-first", "random", "rarest-first"):
        found = place(instance, "ic", np.random.default_rng(1), {"order": order})
        costs[order] = found.cost
        assert found.details["order"] == order
    assert costs["rarest-first"] < costs["larger-first"] < costs["random"]
