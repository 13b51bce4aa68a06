"""Which old interval each new interval keeps: the pairing that leaves the most state where it is."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.planning.instance import Integers


def keepers(old: Sequence[int], new: Sequence[int], state: Integers) -> tuple[int, tuple[int, ...]]:
    """(gain, keeper per new interval or -1) for edges ``old`` and ``new``, both from 0 to the number of bins.

    In order of the bins the pairs never cross, so a table over (old intervals, new intervals) seen suffices.

    >>> import numpy as np
    >>> keepers([0, 2, 4], [0, 1, 4], np.array([5, 1, 1, 1]))
    (7, (0, 1))
    """
    prefix = [0]
    for value in state.tolist():
        prefix.append(prefix[-1] + value)
    rows, columns = len(old) - 1, len(new) - 1
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            shared = _shared(old, new, prefix, i, j)
            best[i][j] = max(best[i - 1][j], best[i][j - 1], best[i - 1][j - 1] + shared)
    return best[rows][columns], _read_back(best, old, new, prefix)


def _shared(old: Sequence[int], new: Sequence[int], prefix: list[int], i: int, j: int) -> int:
    lower, upper = max(old[i - 1], new[j - 1]), min(old[i], new[j])
    return prefix[upper] - prefix[lower] if lower < upper else 0


def _read_back(best: list[list[int]], old: Sequence[int], new: Sequence[int], prefix: list[int]) -> tuple[int, ...]:
    i, j = len(old) - 1, len(new) - 1
    kept = [-1] * j
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            kept[j - 1] = i - 1
            i, j = i - 1, j - 1
    return tuple(kept)
