"""The same problem in the words of a hypergraph partitioner: pieces are nodes, sources are nets.

The traffic is the connectivity metric, up to the constant that every source is sent once. ``mtkahypar`` is optional:
where it is not installed, ``is_installed`` says so and nothing else here may be called.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from whimbrel.placement.instance import Floats, Integers
from whimbrel.placement.pieces import Pieces

_FINEST_RATE = 1000


def is_installed() -> bool:
    """Whether the optional partitioner can be imported."""
    return find_spec("mtkahypar") is not None


def partition(pieces: Pieces, rates: Floats, limits: Integers, seed: int) -> Integers:
    """The block of every piece; blocks may be a little over their limits, which the caller repairs."""
    import mtkahypar

    solver = _initializer()
    mtkahypar.set_seed(seed)
    context = solver.context_from_preset(mtkahypar.PresetType.QUALITY)
    context.set_partitioning_parameters(len(limits), 0.03, mtkahypar.Objective.KM1)
    context.set_individual_target_block_weights(limits.tolist())
    context.logging = False
    nets = np.flatnonzero(np.diff(pieces.reader_offsets) > 1)
    bounds = pieces.reader_offsets
    graph = solver.create_hypergraph(
        context,
        len(pieces.weight),
        len(nets),
        [pieces.readers[bounds[s] : bounds[s + 1]].tolist() for s in nets],
        pieces.weight.tolist(),
        _whole_rates(rates[nets]).tolist(),
    )
    return np.asarray(graph.partition(context).get_partition(), dtype=np.int64)


_made: list[Any] = []


def _initializer() -> Any:
    """The one solver of this process: the library may be initialised only once.

    One thread: its threads wait actively, which on a machine that does other work too costs more than it brings.
    """
    import mtkahypar

    if not _made:
        _made.append(mtkahypar.initialize(1, False))
    return _made[0]


def _whole_rates(rates: Floats) -> Integers:
    """Rates as whole numbers, which the partitioner needs: scaled so that the mean keeps three digits."""
    if not rates.size or bool((rates == np.round(rates)).all() and rates.max() < 2**31):
        return rates.astype(np.int64)
    return np.maximum(1, np.round(rates / rates.mean() * _FINEST_RATE)).astype(np.int64)
