"""What should move where: planners, bounds and transfer phases. Pure functions; no Spark, no clock of their own.

Names whose modules compile kernels are resolved on first use, so that importing this room stays cheap.
"""

from importlib import import_module
from typing import Any

from whimbrel.planning.planner import PLANNERS, plan

_HOMES = {
    "cheapest_balance_within": "whimbrel.planning.cost_and_balance",
    "pareto": "whimbrel.planning.cost_and_balance",
    "plan_sequence": "whimbrel.planning.sequence",
    "ssm_boundaries": "whimbrel.planning.ssm_trace",
    "ssm_gain": "whimbrel.planning.ssm_layered",
    "transfer_phases": "whimbrel.planning.transfers",
    "warm": "whimbrel.planning.ssm",
}

__all__ = [
    "PLANNERS",
    "cheapest_balance_within",
    "pareto",
    "plan",
    "plan_sequence",
    "ssm_boundaries",
    "ssm_gain",
    "transfer_phases",
    "warm",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whimbrel.planning' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
