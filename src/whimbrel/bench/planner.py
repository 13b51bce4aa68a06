"""``whimbrel bench planner``: how long a plan takes, warm, at the sizes that matter.

One case per planner and size: ``m`` bins from ``n`` to ``slots`` slots. ``ms`` is the median time of the algorithm on
arrays, ``plan_ms`` that of the whole ``plan`` call with its exact bookkeeping where the size allows it. ``certified``
says that the plan is proven optimal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whimbrel.bench.choosing import wanted
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


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """Measures every case. Options: ``peers`` (planners), ``seconds`` (how long a case is repeated at most), ``large``
    (default true), ``seed``, ``repeats``, ``clock``.
    """
    chosen = wanted(options, ("ssm", *BASELINES), what="planner")
    bench = _Bench(
        int(options.get("seed") or 1),
        int(options.get("repeats") or 15),
        float(options.get("seconds") or math.inf),
        options.get("clock") or time.perf_counter,
    )
    sizes = SIZES + (LARGE if options.get("large", True) else ())
    cases = [case for size in sizes if "ssm" in chosen for case in bench.single_step(*size)]
    for m, n, slots in ((64, 8, 10), (1024, 64, 72)):
        cases += [bench.baseline(planner, m, n, slots) for planner in BASELINES if planner in chosen]
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


def median_ms(call: Callable[[], Any], repeats: int, clock: Clock, seconds: float = math.inf) -> float:
    """Median of ``repeats`` calls after one that warms everything up; no call begins after ``seconds``."""
    call()
    times: list[float] = []
    while len(times) < repeats and (not times or sum(times) < 1000 * seconds):
        started = clock()
        call()
        times.append(1000 * (clock() - started))
    return median(times)


@dataclass(frozen=True, slots=True)
class _Bench:
    seed: int
    repeats: int
    seconds: float
    clock: Clock

    def single_step(self, m: int, n: int, slots: int) -> list[dict[str, Any]]:
        from whimbrel.planning import ssm
        from whimbrel.planning.ssm_lagrangian import plan_lagrangian
        from whimbrel.planning.ssm_layered import ssm_gain
        from whimbrel.planning.ssm_terrain import reach_of
        from whimbrel.planning.ssm_trace import ssm_boundaries

        ssm.warm()
        work, state, boundaries, limit = uneven_question(m, n, slots, self.seed)
        size = {"m": m, "n": n, "slots": slots}
        repeats = self.repeats if m < 1 << 20 else min(self.repeats, 3)
        cases = []
        if m * slots <= 1 << 24:
            case: dict[str, Any] = {"planner": "ssm", "engine": "layered", **size, "certified": True}
            case["ms"] = self._ms(lambda: ssm_boundaries(work, state, boundaries, slots, limit), repeats)
            case["feasible"] = bool(ssm_gain(work, state, boundaries, slots, limit) >= 0)
            if m <= 1024:
                load, current = _question(work, state, boundaries)
                case["plan_ms"] = self._plan_ms("ssm", load, current, slots, repeats)
            cases.append(case)
        priced = plan_lagrangian(reach_of(work, limit), state, boundaries, slots)
        ms = self._ms(lambda: plan_lagrangian(reach_of(work, limit), state, boundaries, slots), repeats)
        proof = {"certified": priced[3] in {"dual", "flat", "pruned", "layered"}, "certificate": priced[3]}
        engine = {"planner": "ssm", "engine": "lagrangian"}
        return [*cases, {**engine, **size, "ms": ms, **proof, "feasible": priced[0] >= 0}]

    def baseline(self, planner: str, m: int, n: int, slots: int) -> dict[str, Any]:
        from whimbrel.planning import plan

        work, state, boundaries, _ = uneven_question(m, n, slots, self.seed)
        load, current = _question(work, state, boundaries)
        answer = plan(planner, load, current, slots, 0.2)
        ms = self._plan_ms(planner, load, current, slots, 3)
        certified = planner == "any-map" and answer.cost == answer.lower_bound
        return {"planner": planner, "m": m, "n": n, "slots": slots, "ms": ms, "plan_ms": ms, "certified": certified}

    def _plan_ms(self, planner: str, load: Load, current: Assignment, slots: int, repeats: int) -> float:
        from whimbrel.planning import plan

        return self._ms(lambda: plan(planner, load, current, slots, 0.2), repeats)

    def _ms(self, call: Callable[[], Any], repeats: int) -> float:
        return median_ms(call, repeats, self.clock, self.seconds)


def _question(work: Integers, state: Integers, boundaries: Integers) -> tuple[Load, Assignment]:
    owner = np.repeat(np.arange(len(boundaries) - 1), np.diff(boundaries))
    return Load(tuple(work.tolist()), tuple(state.tolist())), Assignment(tuple(owner.tolist()))
