"""Who is on a server and who reads a source, as rings to walk along, for compiled kernels.

The members of a ring are linked in a circle, and the ring has a cursor. A walk from the cursor on meets every member in
turn before it meets one again, whoever comes and goes meanwhile; it costs no search and no random number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

_Numbers = NDArray[np.int32]


class Rings(NamedTuple):
    """Member ``m`` stands between ``before[m]`` and ``after[m]``; ``cursor[r]`` is a member of ring r, -1 for none."""

    before: _Numbers
    after: _Numbers
    cursor: _Numbers


def empty_rings(members: int, rings: int) -> Rings:
    """Rings without members; a member is in one ring at a time."""
    return Rings(np.zeros(members, np.int32), np.zeros(members, np.int32), np.full(rings, -1, dtype=np.int32))


@njit(cache=True)
def join_ring(member: int, ring: int, rings: Rings) -> None:
    """The member stands just behind the cursor: a walk meets it last."""
    here = rings.cursor[ring]
    if here < 0:
        rings.cursor[ring], rings.before[member], rings.after[member] = member, member, member
        return
    last = rings.before[here]
    rings.before[member], rings.after[member] = last, here
    rings.after[last], rings.before[here] = member, member


@njit(cache=True)
def leave_ring(member: int, ring: int, rings: Rings) -> None:
    """The member is taken out; the cursor moves on where it stood on it."""
    before, after = rings.before[member], rings.after[member]
    if after == member:
        rings.cursor[ring] = -1
        return
    rings.after[before], rings.before[after] = after, before
    if rings.cursor[ring] == member:
        rings.cursor[ring] = after


@njit(cache=True)
def next_of_ring(ring: int, rings: Rings) -> int:
    """The member under the cursor, which moves on; -1 where there is none."""
    here = rings.cursor[ring]
    if here >= 0:
        rings.cursor[ring] = rings.after[here]
    return here
