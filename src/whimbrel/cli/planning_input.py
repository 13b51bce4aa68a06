"""Reads the JSON instances of ``plan``, ``plan-sequence`` and ``transfers``; every fault names its field."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whimbrel.cli.answers import read_json_object
from whimbrel.model import Assignment, BadInput, Load
from whimbrel.model.load import Number
from whimbrel.planning.transfers import Schedule, transfer_phases


@dataclass(frozen=True)
class PlanInput:
    """An instance as it was read; what the file leaves out is None or empty."""

    load: Load
    current: Assignment
    current_slots: int
    slots: int | None
    tau: float | None
    give_up: tuple[int, ...]
    capacities: tuple[Number, ...] | None


def read_plan_input(path: Path) -> PlanInput:
    """The instance in a file. Raises BadInput with the file, the field and what to write there."""
    fields = read_json_object(path)
    try:
        return _plan_input(fields)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def read_targets(path: Path) -> list[tuple[int, float]]:
    """The (slots, tau) pairs of a sequence, in order; at least one."""
    targets = read_json_object(path).get("targets")
    if not isinstance(targets, list) or not targets:
        raise BadInput(f'{path}: "targets" must be a list of objects with "slots" and "tau", at least one')
    pairs = []
    for index, target in enumerate(targets):
        if not isinstance(target, dict):
            raise BadInput(f'{path}: targets[{index}] must be an object with "slots" and "tau"')
        try:
            pairs.append((_whole(target, "slots"), _number(target, "tau")))
        except BadInput as error:
            raise BadInput(f"{path}: targets[{index}]: {error}") from None
    return pairs


def refuse_capacities(path: Path, read: PlanInput, command: str) -> None:
    """Raises BadInput where the file has capacities: an answer that ignores them would be wrong."""
    if read.capacities is not None:
        raise BadInput(f'{path}: {command} knows only slots of equal capacity: remove "capacities"')


def read_schedule(path: Path) -> Schedule:
    """The phases for the bytes from slot to slot in a file; the links may be missing."""
    fields = read_json_object(path)
    matrix = fields.get("bytes")
    if not isinstance(matrix, list) or not all(isinstance(row, list) for row in matrix):
        raise BadInput(f'{path}: "bytes" must be a list of rows: bytes[from][to]')
    try:
        return transfer_phases(matrix, fields.get("uplink"), fields.get("downlink"))
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def _plan_input(fields: dict[str, Any]) -> PlanInput:
    load = Load(_numbers(fields, "work"), _numbers(fields, "state"))
    current, current_slots = _current(fields, load.bins)
    return PlanInput(
        load=load,
        current=current,
        current_slots=current_slots,
        slots=_whole(fields, "slots") if fields.get("slots") is not None else None,
        tau=_number(fields, "tau") if fields.get("tau") is not None else None,
        give_up=tuple(_wholes(fields, "give_up")) if "give_up" in fields else (),
        capacities=_numbers(fields, "capacities") if fields.get("capacities") is not None else None,
    )


def _current(fields: dict[str, Any], bins: int) -> tuple[Assignment, int]:
    if fields.get("intervals") is not None:
        intervals = fields["intervals"]
        if not isinstance(intervals, list) or not all(_is_pair(pair) for pair in intervals):
            raise BadInput('"intervals" must be a list of [first bin, one past the last bin], whole numbers')
        current = Assignment.from_intervals([(pair[0], pair[1]) for pair in intervals], bins)
        if fields.get("assignment") is not None and _assignment(fields, bins) != current:
            raise BadInput('"intervals" and "assignment" say different things: give one of them')
        return current, len(intervals)
    if fields.get("assignment") is None:
        raise BadInput('give the current assignment as "intervals" or as "assignment"')
    return _assignment(fields, bins), 0


def _assignment(fields: dict[str, Any], bins: int) -> Assignment:
    owner = _wholes(fields, "assignment")
    if len(owner) != bins:
        raise BadInput(f'"assignment" has {len(owner)} entries and "work" {bins}: give one slot per bin')
    return Assignment(tuple(owner))


def _numbers(fields: dict[str, Any], name: str) -> tuple[Number, ...]:
    values = fields.get(name)
    if not isinstance(values, list):
        raise BadInput(f'"{name}" must be a list of numbers')
    for index, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"{name}[{index}] is {value!r}: it must be a number")
    return tuple(values)


def _wholes(fields: dict[str, Any], name: str) -> list[int]:
    values = fields.get(name)
    if not isinstance(values, list) or not all(_is_whole(value) for value in values):
        raise BadInput(f'"{name}" must be a list of whole numbers')
    return values


def _whole(fields: dict[str, Any], name: str) -> int:
    value = fields.get(name)
    if not _is_whole(value):
        raise BadInput(f'"{name}" must be a whole number, not {value!r}')
    return int(value)  # type: ignore[arg-type]


def _number(fields: dict[str, Any], name: str) -> float:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f'"{name}" must be a number, not {value!r}')
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_is_whole(entry) for entry in value)
