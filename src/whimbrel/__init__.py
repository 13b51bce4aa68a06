"""Whimbrel moves the state of a running PySpark stream, live, in fine steps, by a plan that moves the least.

``import whimbrel`` is cheap and never imports pyspark: every public name is resolved on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_SUMS = "whimbrel.runtime.operators.aggregates"
_VALUES = "whimbrel.runtime.operators.value_aggregates"
_HOMES = {
    "WhimbrelError": "whimbrel.model.errors",
    "approx_count_distinct": _VALUES,
    "collect": _VALUES,
    "collect_set": _VALUES,
    "count": _SUMS,
    "count_distinct": _VALUES,
    "first_of": _VALUES,
    "job": "whimbrel.runtime.job",
    "last_of": _VALUES,
    "max_of": _SUMS,
    "mean_of": _SUMS,
    "min_of": _SUMS,
    "stddev_of": _VALUES,
    "sum_of": _SUMS,
    "top": _VALUES,
    "variance_of": _VALUES,
}

__all__ = [
    "WhimbrelError",
    "__version__",
    "approx_count_distinct",
    "collect",
    "collect_set",
    "count",
    "count_distinct",
    "first_of",
    "job",
    "last_of",
    "max_of",
    "mean_of",
    "min_of",
    "stddev_of",
    "sum_of",
    "top",
    "variance_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whimbrel' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
