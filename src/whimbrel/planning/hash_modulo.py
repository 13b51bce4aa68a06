"""Spark's own rule, hash % N: perfectly simple, and almost everything moves when N changes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from whimbrel.model import Assignment
from whimbrel.model.load import Number
from whimbrel.planning.instance import Instance, plain
from whimbrel.planning.stable_hash import stable_hash


def hash_assignment(bins: int, slots: tuple[int, ...]) -> Assignment:
    """The assignment in which each bin's stable hash modulo their number chooses among ``slots``."""
    index = stable_hash(np.arange(bins, dtype=np.uint64)) % np.uint64(len(slots))
    return Assignment(tuple(slots[i] for i in index.tolist()))


def share_moved(old_slots: int, new_slots: int) -> Fraction:
    """The share of uniformly hashed keys whose slot changes when hash % old becomes hash % new.

    Of the lcm(old, new) residues exactly min(old, new) keep their slot.

    >>> share_moved(4, 6), share_moved(4, 4)
    (Fraction(2, 3), Fraction(0, 1))
    """
    return 1 - Fraction(min(old_slots, new_slots), math.lcm(old_slots, new_slots))


def hash_cost(instance: Instance) -> Number:
    """The state that hash % N moves for this change of slot count, keys spread evenly over the hash."""
    values, scale = instance.scaled_state
    moved = share_moved(instance.old_slots, instance.slots) * Fraction(sum(values), scale)
    return plain(moved)
