"""What a projection is computed for: loads, tau, the slot counts, how they follow each other, and gamma.

Invariant: an instance is complete and checked; its digest names it. Two instances with the same digest have the
same projection, and a projection stamped with another digest is stale.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from whimbrel.model import BadInput, Load
from whimbrel.model.limit import exact
from whimbrel.planning.instance import SLOTS_MAX, refuse_totals_beyond_floats

ROW_SUM_TOLERANCE = 1e-6
FIELDS = ("work", "state", "tau", "states", "matrix", "gamma")


@dataclass(frozen=True, slots=True)
class ProjectionInstance:
    """``matrix[i][j]`` is the probability that ``states[j]`` slots follow ``states[i]`` slots.

    ``tau`` is kept as the user wrote it, so that the limit stays an exact rational.

    >>> instance = ProjectionInstance(Load((1, 1), (5, 5)), "0.2", (1, 2), ((0.0, 1.0), (1.0, 0.0)), 0.8)
    >>> instance.load.bins, instance.states
    (2, (1, 2))
    """

    load: Load
    tau: str
    states: tuple[int, ...]
    matrix: tuple[tuple[float, ...], ...]
    gamma: float

    def __post_init__(self) -> None:
        _check_states(self.states)
        _check_matrix(self.matrix, self.states)
        if not 0 <= self.gamma < 1:
            raise BadInput(f"gamma is {self.gamma}: it must be at least 0 and less than 1, or the costs never end")
        if self.load.bins == 0:
            raise BadInput("work and state are empty: a projection needs at least one bin")
        refuse_totals_beyond_floats(self.load, float(self.tau))

    @property
    def digest(self) -> str:
        """Names this instance: SHA-256 over its canonical JSON."""
        return digest_of(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The instance as the JSON object that ``from_json`` reads."""
        return {
            "work": list(self.load.work),
            "state": list(self.load.state),
            "tau": self.tau,
            "states": list(self.states),
            "matrix": [list(row) for row in self.matrix],
            "gamma": self.gamma,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any], where: str = "the instance") -> ProjectionInstance:
        """The instance in a JSON object. Raises BadInput that names ``where`` and the field at fault."""
        missing = [name for name in FIELDS if not isinstance(value, Mapping) or name not in value]
        if missing:
            raise BadInput(f"{where} lacks {', '.join(missing)}: a projection needs {', '.join(FIELDS)}")
        return ProjectionInstance(
            Load(_numbers(value["work"], "work", where), _numbers(value["state"], "state", where)),
            tau_text(value["tau"], where),
            _integers(value["states"], where),
            _rows(value["matrix"], where),
            _number(value["gamma"], "gamma", where),
        )


def digest_of(value: Any) -> str:
    """SHA-256 of a JSON value with sorted keys and numbers as exact rationals (1 and 1.0 are the same)."""
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def load_digest(load: Load) -> str:
    """Names a load: what a planner compares before it trusts a stored projection."""
    return digest_of([list(load.work), list(load.state)])


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, int | float):
        return str(exact(value))
    return value


def tau_text(value: Any, where: str = "the instance") -> str:
    """tau as the shortest decimal that names it. Raises BadInput where it is no number of zero or more.

    >>> tau_text(0.20), tau_text("0.2")
    ('0.2', '0.2')
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"tau of {where} is {value!r}: it must be a number of zero or more") from None
    if isinstance(value, bool) or not math.isfinite(number) or number < 0:
        raise BadInput(f"tau of {where} is {value}: it must be a number of zero or more")
    return repr(number)


def _number(value: Any, name: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadInput(f"{name} of {where} is {value!r}: it must be a finite number")
    return float(value)


def _numbers(value: Any, name: str, where: str) -> tuple[int | float, ...]:
    if not isinstance(value, list):
        raise BadInput(f"{name} of {where} is {value!r}: it must be a list of numbers, one per bin")
    return tuple(value)


def _integers(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or any(isinstance(v, bool) or not isinstance(v, int) for v in value):
        raise BadInput(f"states of {where} is {value!r}: it must be a list of slot counts")
    return tuple(value)


def _rows(value: Any, where: str) -> tuple[tuple[float, ...], ...]:
    if not isinstance(value, list) or any(not isinstance(row, list) for row in value):
        raise BadInput(f"matrix of {where} must be a list of rows, one per state")
    return tuple(tuple(_number(cell, f"matrix[{i}]", where) for cell in row) for i, row in enumerate(value))


def _check_states(states: Sequence[int]) -> None:
    if not states:
        raise BadInput("states is empty: name at least one slot count")
    if any(slots < 1 for slots in states):
        raise BadInput(f"states has {min(states)}: a slot count is at least 1")
    if max(states) > SLOTS_MAX:
        raise BadInput(f"states has {max(states)}: a slot count is at most {SLOTS_MAX}")
    if any(left >= right for left, right in pairwise(states)):
        raise BadInput(f"states is {list(states)}: slot counts must ascend, each of them once")


def _check_matrix(matrix: Sequence[Sequence[float]], states: Sequence[int]) -> None:
    if len(matrix) != len(states) or any(len(row) != len(states) for row in matrix):
        raise BadInput(f"matrix must have {len(states)} rows and columns, one for each of the states {list(states)}")
    for slots, row in zip(states, matrix, strict=True):
        if any(not 0 <= cell <= 1 for cell in row) or abs(sum(row) - 1) > ROW_SUM_TOLERANCE:
            raise BadInput(f"matrix row of {slots} slots sums to {sum(row):g}: probabilities sum to 1 in every row")
