"""Who may import whom, read from the syntax trees. An import inside a function counts like any other.

Two tables are the contract; a room that is in neither is a fault, so that a new room must state what it leans on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.house.source import PACKAGE, Import, Module

BELOW_RUNTIME = {"model", "planning", "migration", "state", "control"}
EVERY_ROOM_BUT_CLI = {
    *BELOW_RUNTIME,
    "placement", "runtime", "hosting", "nexmark", "workloads", "sim", "experiments", "report", "bench", "testing",
}  # fmt: skip

MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "planning": {"model"},
    "placement": {"model"},
    "migration": {"model"},
    "state": {"model"},
    "report": {"model"},
    "control": {"model", "planning", "migration", "state"},
    "testing": {"model", "state", "control"},
    "runtime": BELOW_RUNTIME,
    "hosting": {"runtime", "placement", "control", "state", "model"},
    "nexmark": {"runtime", "model"},
    "workloads": {"runtime", "nexmark", "model"},
    "sim": {*BELOW_RUNTIME, "placement"},
    "bench": EVERY_ROOM_BUT_CLI,
    "experiments": EVERY_ROOM_BUT_CLI,
    "cli": EVERY_ROOM_BUT_CLI,
}
"""Room -> the other rooms it may import (DESIGN: `bench` and `experiments` measure, so they see everything)."""

WITHOUT_SPARK = {"model", "planning", "placement", "migration", "state", "control", "report", "testing", "sim"}
"""Rooms that never import pyspark: their decisions run under simulated time and in plain tests."""

MODEL_ONLY = ("nexmark.events", "nexmark.reference")
"""Modules of a mixed room that keep to the model: generators and reference answers (one of those asks batch Spark)."""


def contract_faults(modules: Iterable[Module]) -> list[str]:
    """One line for every import that breaks a contract."""
    return [fault for module in modules for fault in _faults_of(module)]


def _faults_of(module: Module) -> Iterator[str]:
    allowed = allowed_rooms(module)
    if allowed is None:
        yield f"{module.place}: the room '{module.room}' is in no import contract: add it to MAY_IMPORT"
        return
    for found in module.imports:
        target = room_of(found)
        if target and target != module.room and target not in allowed:
            yield f"{module.place}:{found.line}: {module.room} may not import {found.name}"
        if found.name.split(".")[0] == "pyspark" and not may_use_spark(module):
            yield f"{module.place}:{found.line}: {module.room or PACKAGE} never imports pyspark"
        if module.room == "workloads" and target == "nexmark" and not found.name.startswith("whimbrel.nexmark.events"):
            if found.name != "whimbrel.nexmark":
                yield f"{module.place}:{found.line}: workloads may import nexmark.events only"


def allowed_rooms(module: Module) -> set[str] | None:
    """The other rooms that a module may import; None where no contract names its room."""
    if not module.room or module.name == PACKAGE:
        return set()
    if is_oracle(module) or module.name.startswith(tuple(f"{PACKAGE}.{name}" for name in MODEL_ONLY)):
        return {"model"}
    return MAY_IMPORT.get(module.room)


def is_oracle(module: Module) -> bool:
    """An oracle answers independently, so it may lean on nothing that it judges."""
    return any("oracle" in part for part in module.name.split(".")[1:])


def may_use_spark(module: Module) -> bool:
    """Whether a module may import pyspark at all."""
    return (
        bool(module.room) and module.room not in WITHOUT_SPARK and not module.name.startswith("whimbrel.nexmark.events")
    )


def room_of(found: Import) -> str:
    """The room of ours that an import names; empty for other packages and for the package itself."""
    parts = found.name.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 and not parts[1].startswith("_") else ""


def cycles(modules: Iterable[Module]) -> list[str]:
    """Every cycle among modules through imports that run at import time, and among rooms through any import."""
    listed = list(modules)
    names = {module.name for module in listed}
    eager = {m.name: {i.name for i in m.imports if not i.lazy and i.name in names} - {m.name} for m in listed}
    packages_apart = {name: _without_own_package(name, targets) for name, targets in eager.items()}
    rooms: dict[str, set[str]] = {}
    for module in listed:
        targets = {room_of(found) for found in module.imports} - {"", module.room}
        rooms.setdefault(module.room, set()).update(targets)
    rooms.pop("", None)
    return [" -> ".join(cycle) for graph in (packages_apart, rooms) if (cycle := find_cycle(graph))]


def _without_own_package(name: str, targets: set[str]) -> set[str]:
    """``from a import b`` names the package a too, which every module of a runs under: that is no cycle."""
    return {target for target in targets if not name.startswith(f"{target}.")}


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """One cycle of a graph as the list of its nodes, the first repeated at the end; empty where there is none."""
    done: set[str] = set()

    def visit(node: str, trail: list[str]) -> list[str]:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in done:
            return []
        for target in sorted(graph.get(node, ())):
            if found := visit(target, [*trail, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := visit(node, []))), [])
