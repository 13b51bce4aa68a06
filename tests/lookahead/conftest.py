"""A small instance that is projected once for all tests that read projections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whimbrel.model import Load
from whimbrel.planning.projection_exact import project_exact
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_problem import Problem


def small_instance(gamma: float = 0.8, seed: int = 11) -> ProjectionInstance:
    rng = np.random.default_rng(seed)
    load = Load(tuple(int(v) for v in rng.integers(3, 9, 24)), tuple(int(v) for v in rng.integers(10, 99, 24)))
    matrix = ((0.0, 0.7, 0.3), (0.5, 0.0, 0.5), (0.2, 0.8, 0.0))
    return ProjectionInstance(load, "0.3", (4, 5, 6), matrix, gamma)


@pytest.fixture(scope="session")
def instance() -> ProjectionInstance:
    return small_instance()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, instance: ProjectionInstance) -> Path:
    out = tmp_path_factory.mktemp("projection")
    project_exact(Problem.of(instance), out)
    return out
