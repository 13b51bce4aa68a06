"""The exact programs against each other where exhaustion ends: larger, tighter and more repetitive questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from whimbrel.planning import ssm_lagrangian
from whimbrel.planning.ssm_lagrangian import plan_lagrangian
from whimbrel.planning.ssm_layered import ssm_gain
from whimbrel.planning.ssm_repaired import repaired_gain
from whimbrel.planning.ssm_terrain import reach_of
from whimbrel.planning.ssm_trace import plan_layers, ssm_boundaries

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, int, int]


def arrays(seed: int, count: int, bins_max: int = 80) -> Iterator[Arrays]:
    """(work, state, boundaries, slots, limit): many ties, few ties, all equal."""
    random = np.random.default_rng(seed)
    for number in range(count):
        m = int(random.integers(1, bins_max + 1))
        n = int(random.integers(1, min(m, 12) + 1))
        top = (2, 10, 1000)[number % 3]
        work, state = random.integers(0, top, m), random.integers(0, top, m)
        if number % 5 == 0:
            work, state = np.ones(m, np.int64), np.ones(m, np.int64)
        inner = np.sort(random.choice(np.arange(1, m), n - 1, replace=False)) if n > 1 else np.array([], np.int64)
        boundaries = np.concatenate([[0], inner, [m]]).astype(np.int64)
        slots = int(random.integers(1, 14))
        yield work, state, boundaries, slots, int(work.sum() / slots * (1 + random.choice([0, 0.1, 0.2, 0.5])))


def kept_by(asked: Arrays, cuts: np.ndarray, keepers: np.ndarray) -> int:
    """The state that a plan keeps, after checking that it is a plan."""
    work, state, boundaries, slots, limit = asked
    assert cuts[0] == 0 and cuts[-1] == len(work) and (np.diff(cuts) > 0).all()
    assert len(keepers) == len(cuts) - 1 <= slots
    kept, used = 0, set()
    for lower, upper, z in zip(cuts, cuts[1:], keepers, strict=False):
        assert work[lower:upper].sum() <= limit
        if z >= 0:
            assert z not in used
            used.add(z)
            kept += int(state[max(lower, boundaries[z]) : min(upper, boundaries[z + 1])].sum())
    return kept


def test_layered_priced_and_repaired_programs_agree() -> None:
    certificates: Counter[str] = Counter()
    for number, asked in enumerate(arrays(seed=3, count=3000)):
        work, state, boundaries, slots, limit = asked
        reach = reach_of(work, limit)
        gain = ssm_gain(*asked)
        assert repaired_gain(*asked) == gain
        for stride in (1, slots) if number % 2 else (2,):
            layered, cuts, keepers = plan_layers(reach, state, boundaries, slots, stride)
            assert layered == gain and (gain < 0 or kept_by(asked, cuts, keepers) == gain)
        priced, cuts, keepers, how = plan_lagrangian(reach, state, boundaries, slots)
        certificates[how] += 1
        assert priced == gain and (gain < 0 or kept_by(asked, cuts, keepers) == gain)
    assert min(certificates["dual"], certificates["flat"], certificates["infeasible"]) > 50, certificates


def test_pruning_finds_the_optimum_when_the_flat_search_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssm_lagrangian, "_flat_plan", lambda *_: None)
    pruned = 0
    for asked in arrays(seed=4, count=2000):
        work, state, boundaries, slots, limit = asked
        gain, cuts, keepers, how = plan_lagrangian(reach_of(work, limit), state, boundaries, slots)
        assert gain == ssm_gain(*asked)
        if how == "pruned":
            pruned += 1
            assert kept_by(asked, cuts, keepers) == gain
    assert pruned > 50


def test_state_too_large_to_multiply_is_planned_exactly_too() -> None:
    for work, state, boundaries, slots, limit in arrays(seed=5, count=400, bins_max=40):
        large = state * (1 << 44)
        reach = reach_of(work, limit)
        gain, _, _, _ = plan_lagrangian(reach, large, boundaries, slots)
        assert gain == ssm_gain(work, large, boundaries, slots, limit)


def test_public_kernels_agree_with_each_other() -> None:
    for asked in arrays(seed=6, count=300):
        gain, cuts, keepers = ssm_boundaries(*asked)
        assert gain == ssm_gain(*asked)
        assert gain < 0 or kept_by(asked, cuts, keepers) == gain


@pytest.mark.slow
def test_a_million_bins_are_planned_alike_with_and_without_layers() -> None:
    random = np.random.default_rng(8)
    m, slots = 1 << 20, 1000
    work, state = random.integers(1, 1000, m), random.integers(1, 1000, m)
    inner = np.sort(random.choice(np.arange(1, m), 1023, replace=False))
    boundaries = np.concatenate([[0], inner, [m]]).astype(np.int64)
    limit = int(work.sum() / slots * 1.2)
    priced, cuts, keepers, how = plan_lagrangian(reach_of(work, limit), state, boundaries, slots)
    assert how in {"dual", "flat", "pruned"}
    asked = (work, state, boundaries, slots, limit)
    assert priced == ssm_gain(*asked) == kept_by(asked, cuts, keepers)
