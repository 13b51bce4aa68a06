"""Instances as JSON objects: how they are read from a file and written to one.

What is written reads back as the same instance. Unknown fields are welcome, so that an instance can carry notes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from whimbrel.model.errors import BadInput
from whimbrel.placement.instance import PlacementInstance


def instance_of_json(value: dict[str, Any]) -> PlacementInstance:
    """The instance that a JSON object describes. Raises BadInput naming the field that cannot be used."""
    for field in ("rates", "queries", "servers"):
        if field not in value:
            raise BadInput(f"the instance has no '{field}': it needs rates, queries and servers")
    return PlacementInstance.of(
        rates=_numbers("rates", value["rates"]),
        queries=_rows(value["queries"]),
        servers=value["servers"],
        nu=_slack("nu", value.get("nu", "0.05")),
        alpha=_slack("alpha", value.get("alpha", 10)),
        work=_optional_list("work", value.get("work")),
        capacities=_optional_list("capacities", value.get("capacities")),
    )


def json_of_instance(instance: PlacementInstance) -> dict[str, Any]:
    """The JSON object of an instance; ``work`` and ``capacities`` only where they are not all equal to 1."""
    flat, offsets = instance.sources.tolist(), instance.offsets.tolist()
    value: dict[str, Any] = {
        "rates": [int(rate) if rate.is_integer() else rate for rate in instance.rates.tolist()],
        "queries": [flat[start:end] for start, end in pairwise(offsets)],
        "servers": instance.servers,
        "nu": float(instance.nu),
        "alpha": float(instance.alpha),
    }
    if (instance.work != 1).any():
        value["work"] = instance.work.tolist()
    if (instance.capacities != 1).any():
        value["capacities"] = instance.capacities.tolist()
    return value


def _numbers(name: str, values: Any) -> list[float]:
    if not isinstance(values, list):
        raise BadInput(f"{name} is a {type(values).__name__}: a list of numbers is needed")
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"{name}[{place}] is {value!r}: a number is needed")
    return values


def _rows(values: Any) -> list[list[int]]:
    if not isinstance(values, list):
        raise BadInput(f"queries is a {type(values).__name__}: a list of lists of sources is needed")
    for place, row in enumerate(values):
        if not isinstance(row, list):
            raise BadInput(f"queries[{place}] is {row!r}: a list of sources is needed")
        for source in row:
            if type(source) is not int:
                raise BadInput(f"queries[{place}] reads source {source!r}: sources are whole numbers from 0")
    return values


def _slack(name: str, value: Any) -> float | str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadInput(f"{name} is {value!r}: it must be a number of zero or more")
    return value


def _optional_list(name: str, values: Any) -> list[int] | None:
    if values is not None and not isinstance(values, list):
        raise BadInput(f"{name} is a {type(values).__name__}: a list of whole numbers is needed")
    return values
