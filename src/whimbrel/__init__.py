"""Whimbrel moves the state of a running PySpark stream, live, in fine steps, by a plan that moves the least.

``import whimbrel`` is cheap and never imports pyspark: every public name is resolved on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "WhimbrelError": "whimbrel.model.errors",
    "count": "whimbrel.runtime.operators.aggregates",
    "job": "whimbrel.runtime.job",
    "max_of": "whimbrel.runtime.operators.aggregates",
    "mean_of": "whimbrel.runtime.operators.aggregates",
    "min_of": "whimbrel.runtime.operators.aggregates",
    "sum_of": "whimbrel.runtime.operators.aggregates",
}

__all__ = ["WhimbrelError", "__version__", "count", "job", "max_of", "mean_of", "min_of", "sum_of"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whimbrel' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
