"""Storm's even split: contiguous runs of equally many bins, given to the slots that already hold most of them.

Balances counts, not work. The matching of new runs to slots is the best one; without it the split moves two to three
times as much.
"""

from __future__ import annotations

import numpy as np

from whimbrel.model import Assignment
from whimbrel.planning.instance import Instance


def even_split(instance: Instance) -> Assignment:
    """At most ``slots`` runs whose counts differ by at most one, matched to slots so that most state stays."""
    runs = min(instance.slots, instance.load.bins)
    run_of_bin = np.asarray(Assignment.even(instance.load.bins, runs).owner)
    return matched(instance, run_of_bin, runs)


def matched(instance: Instance, part_of_bin: np.ndarray, parts: int) -> Assignment:
    """Gives each part of the bins to a usable slot of its own so that the most state stays in place."""
    from scipy.optimize import linear_sum_assignment

    slots = instance.usable_slots
    column_of = {slot: column for column, slot in enumerate(slots)}
    columns = np.array([column_of.get(slot, -1) for slot in instance.current.owner])
    overlap = np.zeros((parts, len(slots)), np.int64)
    known = columns >= 0
    np.add.at(overlap, (part_of_bin[known], columns[known]), instance.whole_state[known])
    rows, chosen = linear_sum_assignment(overlap, maximize=True)
    slot_of_part = {int(row): slots[int(column)] for row, column in zip(rows, chosen, strict=True)}
    return Assignment(tuple(slot_of_part[part] for part in part_of_bin.tolist()))
