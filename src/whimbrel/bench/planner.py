"""``whimbrel bench planner``: how long a plan takes, warm, at the sizes that matter.

One case per planner and size: ``m`` bins from ``n`` to ``slots`` slots. ``ms`` is the median time of the algorithm on
arrays, ``plan_ms`` that of the whole ``plan`` call with its exact bookkeeping where the size allows it. ``certified``
says that the plan is proven optimal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whimbrel.model import Assignment, Load

Integers = NDArray[np.int64]
Clock = Callable[[], float]

SIZES = (
    *((64, 10, slots) for slots in range(8, 17)),
    *((1024, 64, slots) for slots in (56, 64, 72)),
    (16384, 256, 288),
)
LARGE = tuple((1 << 20, 1024, slots) for slots in (900, 1000, 1152))
BASELINES = ("any-map", "even", "consistent-hashing", "redist")


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures every case. Options: ``large`` (default true), ``seed``, ``repeats``, ``clock``."""
    seed, repeats = int(options.get("seed", 1)), int(options.get("repeats", 15))
    clock = options.get("clock", time.perf_counter)
    cases = [case for size in SIZES for case in _single_step(*size, seed, repeats, clock)]
    if options.get("large", True):
        cases += [case for size in LARGE for case in _single_step(*size, seed, 3, clock)]
    for m, n, slots in ((64, 8, 10), (1024, 64, 72)):
        cases += [_baseline(planner, m, n, slots, seed, clock) for planner in BASELINES]
    return {"cases": cases}


def uneven_question(
    m: int, n: int, slots: int, seed: int, tau: float = 0.2
) -> tuple[Integers, Integers, Integers, int]:
    """(work, state, boundaries, limit): random work and state, old intervals of random length."""
    random = np.random.default_rng(seed)
    work, state = random.integers(500, 1000, m), random.integers(100, 1000, m)
    inner = np.sort(random.choice(np.arange(1, m), n - 1, replace=False))
    boundaries = np.concatenate([[0], inner, [m]]).astype(np.int64)
    return work, state, boundaries, max(int(work.sum() / slots * (1 + tau)), int(work.max()))


def median_ms(call: Callable[[], Any], repeats: int, clock: Clock) -> float:
    """Median of ``repeats`` calls after one that warms everything up."""
    call()
    times = []
    for _ in range(repeats):
        started = clock()
        call()
        times.append(1000 * (clock() - started))
    return median(times)


def _single_step(m: int, n: int, slots: int, seed: int, repeats: int, clock: Clock) -> list[dict[str, Any]]:
    from whimbrel.planning import ssm
    from whimbrel.planning.ssm_lagrangian import plan_lagrangian
    from whimbrel.planning.ssm_layered import ssm_gain
    from whimbrel.planning.ssm_terrain import reach_of
    from whimbrel.planning.ssm_trace import ssm_boundaries

    ssm.warm()
    work, state, boundaries, limit = uneven_question(m, n, slots, seed)
    cases = []
    if m * slots <= 1 << 24:
        case = {"planner": "ssm", "engine": "layered", "m": m, "n": n, "slots": slots, "certified": True}
        case["ms"] = median_ms(lambda: ssm_boundaries(work, state, boundaries, slots, limit), repeats, clock)
        case["feasible"] = bool(ssm_gain(work, state, boundaries, slots, limit) >= 0)
        if m <= 1024:
            case["plan_ms"] = _plan_ms("ssm", work, state, boundaries, slots, repeats, clock)
        cases.append(case)
    priced = plan_lagrangian(reach_of(work, limit), state, boundaries, slots)
    cases.append(
        {
            "planner": "ssm",
            "engine": "lagrangian",
            "m": m,
            "n": n,
            "slots": slots,
            "ms": median_ms(lambda: plan_lagrangian(reach_of(work, limit), state, boundaries, slots), repeats, clock),
            "certified": priced[3] in {"dual", "flat", "pruned", "layered"},
            "certificate": priced[3],
            "feasible": priced[0] >= 0,
        }
    )
    return cases


def _plan_ms(
    planner: str, work: Integers, state: Integers, boundaries: Integers, slots: int, repeats: int, clock: Clock
) -> float:
    from whimbrel.planning import plan

    load, current = _question(work, state, boundaries)
    return median_ms(lambda: plan(planner, load, current, slots, 0.2), repeats, clock)


def _question(work: Integers, state: Integers, boundaries: Integers) -> tuple[Load, Assignment]:
    owner = np.repeat(np.arange(len(boundaries) - 1), np.diff(boundaries))
    return Load(tuple(work.tolist()), tuple(state.tolist())), Assignment(tuple(owner.tolist()))


def _baseline(planner: str, m: int, n: int, slots: int, seed: int, clock: Clock) -> dict[str, Any]:
    from whimbrel.planning import plan

    work, state, boundaries, _ = uneven_question(m, n, slots, seed)
    load, current = _question(work, state, boundaries)
    answer = plan(planner, load, current, slots, 0.2)
    ms = median_ms(lambda: plan(planner, load, current, slots, 0.2), 3, clock)
    certified = planner == "any-map" and answer.cost == answer.lower_bound
    return {"planner": planner, "m": m, "n": n, "slots": slots, "ms": ms, "plan_ms": ms, "certified": certified}
