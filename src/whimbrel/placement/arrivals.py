"""What the online algorithms have in common: queries come one by one, and the limits grow with the work arrived.

When query q arrives, the servers that may take it are those whose load with q keeps the limit for the work that has
arrived so far, q included (``capacity``). Where no server may, which happens at the start when alpha is 0, the server
that is then least full takes it, by (load + work of q) / capacity. With equal work and capacities its load is at most the
rounded-up mean, which the final limit allows. Among equally good servers the least full one wins (load / capacity), then
the one with the lowest number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whimbrel.placement.capacity import online_limits, require_room
from whimbrel.placement.errors import NonePacked
from whimbrel.placement.instance import Integers, PlacementInstance

_EXACT_IN_64_BITS = 2**62


class Limits(NamedTuple):
    """For kernels: ``along[class_of[j], q]`` is the limit of server j when query q arrives."""

    along: Integers
    class_of: Integers


@dataclass(frozen=True, eq=False)
class Online:
    """An instance prepared for an online algorithm.

    ``limits[c, q]`` is the limit, when query q arrives, of the servers of capacity class c; ``class_of[j]`` is the
    class of server j; ``final`` are the limits after the last arrival.
    """

    instance: PlacementInstance
    limits: Integers
    class_of: Integers
    final: Integers


def prepare_arrivals(instance: PlacementInstance) -> Online:
    """The limits along the arrivals; raises CannotPlace where the final ones leave no room."""
    final = online_limits(instance)
    require_room(instance, final, instance.alpha)
    classes, class_of = np.unique(instance.capacities, return_inverse=True)
    arrived, capacity = np.cumsum(instance.work), int(instance.capacities.sum())
    limits = np.stack([_limits_along(instance, arrived, int(c), capacity) for c in classes])
    return Online(instance, limits, class_of.astype(np.int64), final)


def require_kept(online: Online, server: Integers) -> Integers:
    """The servers as they are; raises NonePacked where unequal work left one over its final limit."""
    loads = np.zeros(online.instance.servers, dtype=np.int64)
    np.add.at(loads, server, online.instance.work)
    over = np.flatnonzero(loads > online.final)
    if over.size:
        raise NonePacked(
            f"placing queries as they come left server {over[0]} with {loads[over[0]]} units of work and it may carry "
            f"{online.final[over[0]]}: raise nu or alpha"
        )
    return server


def _limits_along(instance: PlacementInstance, arrived: Integers, c: int, capacity: int) -> Integers:
    nu, alpha = instance.nu, instance.alpha
    largest = instance.total_work * c * (nu.numerator + nu.denominator)
    largest = max(largest, instance.total_work * c * alpha.denominator + alpha.numerator * capacity)
    total = arrived if largest < _EXACT_IN_64_BITS else arrived.astype(object)
    floor: Callable[..., Integers] = lambda top, bottom: np.asarray(top // bottom, dtype=np.int64)  # noqa: E731
    relative = floor(total * (c * (nu.numerator + nu.denominator)), capacity * nu.denominator)
    absolute = floor(total * (c * alpha.denominator) + alpha.numerator * capacity, capacity * alpha.denominator)
    return np.maximum(relative, absolute)
