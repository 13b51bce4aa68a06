"""All that is kept of the keys of a turn: their variables, their timers, and when something of it next falls due.

One row of state per key. Only the variables that have changed are written, and a key that has nothing left is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.runtime.operators.processor_blocks import BLOCKS, NEVER, Places, TimerBlock, Turn, Variable
from whimbrel.state.hashing import KeyHashes
from whimbrel.state.table import KeyedTable

TABLE = "keys"
TIMERS, DUE = "_timers", "_due"


class KeyStates:
    """The keys' state as blocks, in the order of ``variables``; ``keys`` and ``hashes`` are distinct."""

    def __init__(
        self,
        table: KeyedTable,
        variables: Sequence[Variable],
        turn: Turn,
        hashes: KeyHashes,
        keys: pa.RecordBatch,
    ) -> None:
        self._table, self._hashes, self._keys = table, hashes, keys
        self._rows = table.find(hashes)
        known = np.flatnonzero(self._rows >= 0)
        held = table.read(self._rows[known]) if known.size else None
        size = keys.num_rows

        def column(name: str) -> pa.Array | None:
            return None if held is None else held.column(name)

        self.blocks = [BLOCKS[v.kind](v, turn, size, known, column(v.name)) for v in variables]
        self.timers = TimerBlock(size, known, column(TIMERS))

    def save(self) -> None:
        """Writes what has changed."""
        changed = _ordered(self.timers.changed.union(*(block.changed for block in self.blocks)))
        alive = np.array([self._alive(place) for place in changed.tolist()], np.bool_)
        gone = self._rows[changed[~alive]]
        self._table.delete(gone[gone >= 0])
        kept = changed[alive]
        if kept.size:
            self._rows[kept], _ = self._table.ensure(self._hashes.take(kept), self._keys.take(pa.array(kept)))
            self._write(np.isin(np.arange(self._rows.size), kept))

    def _alive(self, place: int) -> bool:
        return any(not block.empty(place) for block in self.blocks) or bool(self.timers.of(place))

    def _write(self, kept: npt.NDArray[np.bool_]) -> None:
        expiring = [block.changed for block in self.blocks if block.variable.ttl_ms is not None]
        columns: list[tuple[set[int], str, Callable[[list[int]], pa.Array]]] = [
            *((block.changed, block.variable.name, block.column) for block in self.blocks),
            (self.timers.changed, TIMERS, self.timers.column),
            (self.timers.changed.union(*expiring), DUE, self._due),
        ]
        # Columns that have changed for the same keys, which are most, are written together.
        together: dict[bytes, dict[str, pa.Array]] = {}
        for touched, name, column in columns:
            places = _ordered(touched)
            places = places[kept[places]]
            if places.size:
                together.setdefault(places.tobytes(), {})[name] = column(places.tolist())
        for key, arrays in together.items():
            rows = self._rows[np.frombuffer(key, np.int64)]
            self._table.write(rows, pa.RecordBatch.from_arrays([*arrays.values()], names=[*arrays]))

    def _due(self, places: list[int]) -> pa.Array:
        return pa.array([self._falls_due(place) for place in places], pa.int64())

    def _falls_due(self, place: int) -> int:
        return min([*self.timers.of(place), *(block.due(place) for block in self.blocks)], default=NEVER)


def _ordered(places: set[int]) -> Places:
    found = np.fromiter(places, np.int64, len(places))
    found.sort()
    return found
