"""The partitioner: never worse than where it starts, whatever the rates; repair; the optional solver beside our own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.placement.instances import instances

from whimbrel.placement import CannotPlace, faults_of, generate_instance, place
from whimbrel.placement.annealing import anneal
from whimbrel.placement.capacity import offline_limits
from whimbrel.placement.generator import RATE_LAWS
from whimbrel.placement.partitioner import Effort
from whimbrel.placement.pieces import cut_into_pieces
from whimbrel.placement.query_types import merge_types
from whimbrel.placement.repair import repaired
from whimbrel.placement.result import traffic_of

EFFORTS = [Effort(per_piece=p, least=0, smooth_share=share) for p in (1, 30) for share in (0.0, 0.7)]


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("law", RATE_LAWS)
@pytest.mark.parametrize("effort", EFFORTS, ids=lambda e: f"{e.per_piece}-{e.smooth_share}")
def test_the_partitioner_is_no_worse_than_its_start(law, effort):
    instance = generate_instance(3000, 1.8, 2, 12, rng(3), rates=law)
    start = place(instance, "ic", rng(), {"order": "rarest-first"})
    found = place(instance, "partitioner", rng(), {"solver": "own", "effort": effort})
    assert not faults_of(instance, found)
    assert found.cost <= start.cost * (1 + 1e-12)


@pytest.mark.parametrize("law", ["unit", "random", "positive"])
def test_the_partitioner_is_clearly_better_than_its_start_where_there_is_something_to_gain(law):
    instance = generate_instance(6000, 2.0, 2, 12, rng(3), rates=law)
    start = place(instance, "ic", rng(), {"order": "rarest-first"})
    found = place(instance, "partitioner", rng(), {"solver": "own"})
    lowest = instance.used_rate()
    assert found.cost - lowest < 0.9 * (start.cost - lowest)


def test_even_a_temperature_that_spoils_everything_costs_nothing():
    instance = generate_instance(1000, 2.0, 2, 6, rng(2))
    start = place(instance, "ic", rng(), {"order": "rarest-first"}).server
    limits = offline_limits(instance)
    pieces, server = cut_into_pieces(merge_types(instance), limits, len(instance.rates), start)
    found = anneal(pieces, instance.rates, limits, server, 5000, 1e6, 1e6, 0.0, np.uint64(7))
    assert found.tolist() == server.tolist()


@settings(max_examples=80, deadline=None)
@given(instance=instances(most_queries=15, uneven=True), seed=st.integers(0, 99))
def test_a_repaired_placement_keeps_the_limits_or_is_none(instance, seed):
    limits = offline_limits(instance)
    pieces, _ = cut_into_pieces(merge_types(instance), limits, len(instance.rates))
    blocks = rng(seed).integers(0, instance.servers, len(pieces.weight))
    found = repaired(pieces, instance.rates, limits, blocks)
    before = np.bincount(blocks, weights=pieces.weight, minlength=instance.servers)
    if found is not None:
        after = np.bincount(found, weights=pieces.weight, minlength=instance.servers)
        assert (after <= limits).all()
        moved = np.flatnonzero(found != blocks)
        assert (before[blocks[moved]] > limits[blocks[moved]]).all(), "only pieces of overfull servers move"
    else:
        assert (before > limits).any()


def test_repair_moves_pieces_to_where_they_add_least():
    instance = generate_instance(600, 2.0, 2, 4, rng(5), nu="0.2")
    limits = offline_limits(instance)
    types = merge_types(instance)
    good = place(instance, "ic", rng(), {"order": "rarest-first"}).server
    pieces, server = cut_into_pieces(types, limits, len(instance.rates), good)
    pushed = server.copy()
    pushed[np.flatnonzero(server == 1)[:60]] = 0
    found = repaired(pieces, instance.rates, limits, pushed)
    assert found is not None
    scattered = rng(1).integers(0, 4, len(server))
    assert traffic_of(instance, pieces.servers_of_queries(found)) < traffic_of(
        instance, pieces.servers_of_queries(scattered)
    )


def test_repair_gives_up_where_a_piece_fits_nowhere():
    instance = generate_instance(40, 2.0, 2, 4, rng(5), nu=0)
    limits = offline_limits(instance)
    pieces, _ = cut_into_pieces(merge_types(instance), limits, len(instance.rates))
    assert repaired(pieces, instance.rates, limits - 1, np.zeros(len(pieces.weight), dtype=np.int64)) is None


@pytest.mark.parametrize("law", RATE_LAWS)
def test_our_own_solver_is_within_eight_percent_of_the_optional_one(law):
    pytest.importorskip("mtkahypar")
    instance = generate_instance(10_000, 2.0, 2, 20, rng(4), rates=law)
    theirs = place(instance, "partitioner", rng(), {"solver": "mtkahypar"})
    ours = place(instance, "partitioner", rng(), {"solver": "own"})
    assert theirs.details["solver"] == "mtkahypar"
    assert not faults_of(instance, theirs)
    assert ours.cost <= 1.08 * theirs.cost


@settings(max_examples=25, deadline=None)
@given(instance=instances(most_queries=12, uneven=True))
def test_the_optional_solver_keeps_the_limits_of_unequal_servers(instance):
    pytest.importorskip("mtkahypar")
    try:
        found = place(
            instance, "partitioner", rng(), {"solver": "mtkahypar", "effort": Effort(per_piece=20, least=100)}
        )
    except CannotPlace:
        return
    assert not faults_of(instance, found)
