"""Whimbrel moves the state of a running PySpark stream, live, in fine steps, by a plan that moves the least.

``import whimbrel`` is cheap and never imports pyspark: every public name is resolved on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "WhimbrelError": "whimbrel.model.errors",
    "job": "whimbrel.runtime.job",
}

__all__ = ["WhimbrelError", "__version__", "job"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whimbrel' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
