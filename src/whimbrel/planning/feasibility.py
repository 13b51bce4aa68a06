"""The smallest imbalance at which contiguous plans exist, and what clipping heavy bins to the limit changes.

The smallest limit under which m bins fit into at most n' intervals is found exactly: greedy packing answers "does this
limit suffice", and whole numbers between the heaviest bin and the total are halved.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from whimbrel.model import Load
from whimbrel.model.limit import exact
from whimbrel.planning.instance import Instance, Integers, plain


def intervals_needed(prefix: Sequence[int], limit: int, enough: int) -> int:
    """How many intervals greedy packing needs under ``limit``; ``enough + 1`` where more than ``enough``.

    ``prefix[x]`` is the work before position x.

    >>> intervals_needed([0, 3, 6, 9], limit=6, enough=5)
    2
    """
    last, x, count = len(prefix) - 1, 0, 0
    while x < last:
        further = bisect_right(prefix, prefix[x] + limit) - 1
        if further == x or count == enough:
            return enough + 1
        x = further
        count += 1
    return count


def smallest_limit(work: Sequence[int], slots: int) -> int:
    """The smallest limit under which ``work`` fits into at most ``slots`` contiguous intervals.

    >>> smallest_limit([4, 4, 1, 1], slots=2)
    6
    """
    prefix = [0, *accumulate(work)]
    low = max(*work, -(-prefix[-1] // slots))
    high = prefix[-1]
    while low < high:
        middle = (low + high) // 2
        if intervals_needed(prefix, middle, slots) <= slots:
            high = middle
        else:
            low = middle + 1
    return low


def greedy_parts(reach: Integers, slots: int) -> Integers | None:
    """The part of each bin when cuts fall as far right to left as ``reach`` allows; None where ``slots`` are too few.

    >>> greedy_parts(np.array([0, 0, 1, 1, 3]), slots=3)
    array([0, 1, 1, 2])
    """
    part_of_bin = np.zeros(len(reach) - 1, np.int64)
    x = len(part_of_bin)
    cuts: list[int] = []
    while x > 0 and len(cuts) < slots:
        x = int(reach[x])
        cuts.append(x)
    if x > 0:
        return None
    part_of_bin[[cut for cut in cuts if cut > 0]] = 1
    return np.cumsum(part_of_bin)


def tau_for(limit: Fraction, total_work: Fraction, slots: int) -> float:
    """The smallest float tau >= 0 whose limit, read as a decimal, is at least ``limit``."""
    if total_work == 0:
        return 0.0
    wanted = max(limit * slots / total_work - 1, Fraction(0))
    tau = float(wanted)
    while Fraction(repr(tau)) < wanted:
        tau = math.nextafter(tau, math.inf)
    return tau


def smallest_tau(instance: Instance) -> float:
    """The smallest tau at which a contiguous plan with slots of equal capacity exists."""
    work, scale = instance.scaled_work
    needed = Fraction(smallest_limit(work, instance.slots), scale)
    return tau_for(needed, instance.total_work, instance.slots)


def clipped(instance: Instance) -> Instance:
    """The same question with every bin's work cut down to the limit; the limit itself stays what it was.

    The plan of a clipped question pretends that a heavy bin just fits a slot of its own.
    """
    most = plain(Fraction(instance.whole_limit, instance.scaled_work[1]))
    limit = instance.limit.value
    work = tuple(value if exact(value) <= limit else most for value in instance.load.work)
    return replace(instance, load=Load(work, instance.load.state), fixed_limit=limit)
