"""Every experiment by its id. An experiment is a module of this room with three names.

``ID`` and ``CLAIM`` say what it is about. ``run(data, out)`` measures, writes a picture and a Parquet file into ``out``
and returns ``{"id", "claim", "holds", "figures"}``, more fields at will; ``data`` is the folder of real loads and traces
or None. An experiment that cannot do without real data raises BadInput then. One whose sizes can be chosen has them as
``SIZES``, from a name to its values, and takes others as ``run(data, out, sizes)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from whimbrel.model import BadInput

MODULES = (
    "planner_speed",
    "planner_tau",
    "planner_any_map",
    "planner_table_3",
    "lookahead_chains",
    "lookahead_drift",
    "lookahead_scale",
    "placement_offline",
    "placement_online",
    "placement_churn",
    "placement_server_churn",
    "placement_rates",
    "placement_beyond",
    "megaphone_timelines",
    "megaphone_overhead",
    "megaphone_bins",
    "megaphone_keys",
    "megaphone_keys_per_bin",
    "megaphone_load",
    "megaphone_memory",
)
"""Modules of this room, in the order of ``experiment list``."""


class Experiment(Protocol):
    """What a module of this room offers."""

    ID: str
    CLAIM: str

    def run(self, data: Path | None, out: Path) -> dict[str, Any]:
        """Measures, writes a picture and a Parquet file into ``out``, and says whether the claim holds."""


def experiments() -> dict[str, Experiment]:
    """All experiments by id, in order."""
    modules = (import_module(f"whimbrel.experiments.{name}") for name in MODULES)
    return {module.ID: cast(Experiment, module) for module in modules}


def experiment(identity: str) -> Experiment:
    """The experiment with this id. Raises BadInput, naming all ids, where there is none."""
    known = experiments()
    if identity not in known:
        raise BadInput(f"there is no experiment {identity!r}: choose one of {', '.join(known)}")
    return known[identity]


def run_experiment(
    identity: str, data: Path | None, out: Path, chosen: Mapping[str, tuple[float, ...]] | None = None
) -> dict[str, Any]:
    """Runs one experiment, with other sizes where some are chosen. Raises BadInput for a size that it does not have."""
    found = experiment(identity)
    known: Mapping[str, tuple[float, ...]] = getattr(found, "SIZES", {})
    for name in chosen or {}:
        if name not in known:
            there = f"it has {', '.join(known)}" if known else "its sizes are fixed"
            raise BadInput(f"{identity} has no size {name!r}: {there}")
    if not chosen:
        return found.run(data, out)
    sized = cast(Any, found)
    return cast("dict[str, Any]", sized.run(data, out, {**known, **chosen}))
