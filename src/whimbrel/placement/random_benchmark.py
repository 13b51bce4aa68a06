"""What random placement would cost: the figure that every other placement is compared with.

Where every query goes to server j with probability c_j / C, independently, a source with d readers misses server j
with probability (1 - c_j / C)^d, so the expected traffic is the sum over sources and servers of
w(s) * (1 - (1 - c_j / C)^d). Limits play no part in it.
"""

from __future__ import annotations

import numpy as np

from whimbrel.placement.instance import PlacementInstance


def expected_random_traffic(instance: PlacementInstance) -> float:
    """The mean traffic of queries on random servers, each as likely as its share of the capacities.

    >>> instance = PlacementInstance.of(rates=[3, 1], queries=[[0], [0], [1]], servers=2)
    >>> expected_random_traffic(instance)
    5.5
    """
    readers = np.bincount(instance.sources, minlength=len(instance.rates))
    capacities, servers = np.unique(instance.capacities, return_counts=True)
    total = 0.0
    for capacity, count in zip(capacities.tolist(), servers.tolist(), strict=True):
        missed = (1 - capacity / int(instance.capacities.sum())) ** readers
        total += count * float((instance.rates * (1 - missed)).sum())
    return total
