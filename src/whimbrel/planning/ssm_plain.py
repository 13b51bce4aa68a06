"""The layered program without a compiler: the kernels' own source, run by Python on lists.

Gives the same plan as the compiled form, tie for tie. It costs about a microsecond or two per table cell instead of a
few nanoseconds, and nothing for compiling, so small questions from a cold process are answered at once.
"""

from __future__ import annotations

import numpy as np

from whimbrel.planning.ssm_layered import sweep
from whimbrel.planning.ssm_terrain import NEVER, band_of, terrain_of
from whimbrel.planning.ssm_trace import last_interval, old_intervals_of

Cells = list[list[int]]


def plan_plain(
    reach: list[int], state: list[int], boundaries: list[int], slots: int
) -> tuple[int, list[int], list[int]]:
    """(gain, cuts, keepers) as ``ssm_boundaries`` gives them; gain -1 where no plan keeps the limit.

    >>> plan_plain([0, 0, 1, 2], [5, 1, 7], [0, 2, 3], slots=3)
    (12, [0, 1, 2, 3], [0, -1, 1])
    """
    m = len(state)
    lowest, highest = (edge.tolist() for edge in band_of.py_func(reach, slots))
    if highest[slots] < m:
        return -1, [], []
    terrain = tuple(part.tolist() for part in terrain_of.py_func(np.array(state, np.int64), boundaries))
    unused: Cells = [[NEVER] * (m + 1) for _ in range(slots + 1)]
    reused: Cells = [[NEVER] * (m + 1) for _ in range(slots + 1)]
    scratch = tuple([0] * (m + 1) for _ in range(3))
    unused[0][0] = reused[0][0] = 0
    for k in range(1, slots + 1):
        unused[k][0] = reused[k][0] = 0
        before = unused[k - 1], reused[k - 1]
        sweep.py_func(reach, terrain, max(lowest[k], 1), highest[k], *before, unused[k], reused[k], 0, scratch)
    cuts, keepers = _trace(reach, terrain, slots, unused, reused)
    return reused[slots][m], cuts, old_intervals_of.py_func(keepers, boundaries).tolist()


def _trace(
    reach: list[int], terrain: tuple[list[int], ...], slots: int, unused: Cells, reused: Cells
) -> tuple[list[int], list[int]]:
    x, k, used = len(reach) - 1, slots, True
    cuts, keepers = [x], []
    while x > 0:
        table = reused if used else unused
        value = table[k][x]
        k -= 1
        if table[k][x] == value:
            continue
        settled = used or terrain[2][x - 1] == x
        x, keeper, used = last_interval.py_func(reach, terrain, x, settled, value, unused[k], reused[k])
        cuts.append(x)
        keepers.append(keeper)
    return cuts[::-1], keepers[::-1]
