"""The independent check notices every figure that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from whimbrel.placement import faults_of, generate_instance, place
from whimbrel.placement.catalogue import ONLINE
from whimbrel.placement.validation import ONLINE as ONLINE_TO_THE_CHECK


@pytest.fixture(scope="module")
def instance():
    return generate_instance(400, 2.0, 2, 8, np.random.default_rng(1))


@pytest.fixture(scope="module")
def found(instance):
    return place(instance, "ic", np.random.default_rng(1))


def test_a_right_placement_has_no_fault(instance, found):
    assert faults_of(instance, found) == []


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"cost": 1.0}, "cost"),
        ({"replication_factor": 9.0}, "replication factor"),
        ({"lower_bound": 1e9}, "lower bound"),
        ({"max_load": 1}, "fullest"),
        ({"limit": 9999}, "fullest"),
        ({"limits": np.full(8, 400)}, "may carry"),
        ({"loads": np.zeros(8)}, "loads"),
        ({"server": np.zeros(400)}, "may carry"),
        ({"server": np.full(400, 8)}, "servers run from 0 to 7"),
        ({"server": np.zeros(3)}, "3 of 400"),
    ],
)
def test_a_wrong_figure_is_a_fault(instance, found, wrong, word):
    assert any(word in fault for fault in faults_of(instance, replace(found, **wrong)))


def test_an_offline_placement_may_not_use_the_slack_of_online_ones(instance):
    online = place(instance, "least-cost", np.random.default_rng(1))
    assert not faults_of(instance, online)
    assert faults_of(instance, replace(online, algorithm="ic"))
    assert ONLINE_TO_THE_CHECK == ONLINE
