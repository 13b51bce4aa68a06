"""Brings a placement of pieces under its limits, for starts that are good but not quite balanced.

Pieces leave servers that are over their limit, smallest first, for the server with room where they add the least
traffic. It can fail where the room is scattered; the caller then starts from somewhere else.
"""

from __future__ import annotations

import numpy as np

from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.pieces import Pieces


def repaired(pieces: Pieces, rates: Floats, limits: Integers, server: Integers) -> Integers | None:
    """A placement of the pieces that keeps the limits, or None where none was found."""
    found = server.copy()
    loads = np.bincount(found, weights=pieces.weight, minlength=len(limits)).astype(np.int64)
    if (loads <= limits).all():
        return found
    received = np.zeros((len(rates), len(limits)), dtype=bool)
    received[pieces.sources, np.repeat(found, np.diff(pieces.offsets))] = True
    for j in np.flatnonzero(loads > limits).tolist():
        for v in _smallest_first(pieces, found, j):
            if loads[j] <= limits[j]:
                break
            target = _cheapest(pieces, rates, limits, loads, received, v)
            if target < 0:
                return None
            loads[j] -= pieces.weight[v]
            loads[target] += pieces.weight[v]
            found[v] = target
            received[_sources(pieces, v), target] = True
    return found if (loads <= limits).all() else None


def _smallest_first(pieces: Pieces, server: Integers, j: int) -> Integers:
    here = np.flatnonzero(server == j)
    return here[np.argsort(pieces.weight[here], kind="stable")]


def _sources(pieces: Pieces, v: int) -> Integers:
    return pieces.sources[pieces.offsets[v] : pieces.offsets[v + 1]]


def _cheapest(pieces: Pieces, rates: Floats, limits: Integers, loads: Integers, received: np.ndarray, v: int) -> int:
    sources = _sources(pieces, v)
    added = (rates[sources][:, None] * ~received[sources]).sum(axis=0)
    added[loads + pieces.weight[v] > limits] = np.inf
    target = int(np.argmin(added))
    return target if np.isfinite(added[target]) else -1
