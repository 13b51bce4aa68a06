"""A state variable for all keys of a turn at once: read in one go, unfolded for a key when the processor asks for it.

At rest a key's variable is a list of entries: the time of the last write (0 where nothing expires), the columns of the
map key, those of the value. A block never shows what has expired, and writes back what has changed in one go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model.errors import OperatorFailed
from whimbrel.runtime.operators.local_times import local_type, to_instants, to_local
from whimbrel.runtime.operators.python_values import dismantled, hashable, restored

Values = tuple[Any, ...]
Places = npt.NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Variable:
    """One state variable: ``kind`` value, list or map; the schema of its (map) keys and values; its TTL."""

    name: str
    kind: str
    value: pa.Schema
    key: pa.Schema
    ttl_ms: int | None

    @property
    def type(self) -> pa.DataType:
        """The type of the column that holds it: a list of entries."""
        key = [pa.field(f"k{i}", f.type) for i, f in enumerate(self.key)]
        value = [pa.field(f"v{i}", f.type) for i, f in enumerate(self.value)]
        return pa.list_(pa.struct([("at", pa.int64()), *key, *value]))


@dataclass(slots=True)
class Turn:
    """The number of the key whose turn it is, the time and the zone: shared by all variables of a processor."""

    now_ms: int = 0
    zone: str = "UTC"
    place: int = 0


@dataclass(slots=True)
class _Entries:
    """The living entries of all keys, one key's behind the other's."""

    lengths: Places
    times: list[int]
    keys: list[Values]
    values: list[Values]


class Block(ABC):
    """``held`` is what each key has; ``times`` says when it was written, in the same shape, where there is a TTL."""

    def __init__(self, variable: Variable, turn: Turn, keys: int, known: Places, column: pa.Array | None) -> None:
        self.variable, self.turn = variable, turn
        self.held: list[Any] = [None] * keys
        self.times: list[Any] = [None] * keys
        self.changed: set[int] = set()
        self.read(self._living(keys, known, column))

    @abstractmethod
    def read(self, entries: _Entries) -> None:
        """Takes in the entries at rest."""

    @abstractmethod
    def empty(self, place: int) -> bool:
        """Whether a key has nothing here."""

    @abstractmethod
    def times_of(self, place: int) -> Iterable[int]:
        """When a key's entries were written, in their order; only where there is a TTL."""

    @abstractmethod
    def flat(self, places: Sequence[int]) -> tuple[list[int], list[Values], list[Values]]:
        """How many entries these keys have, and the map keys and values of all of them."""

    def due(self, place: int) -> int:
        """When the first of a key's entries expires."""
        ttl = self.variable.ttl_ms
        return NEVER if ttl is None else min((at + ttl for at in self.times_of(place)), default=NEVER)

    def column(self, places: Sequence[int]) -> pa.Array:
        """The entries of these keys, as they rest."""
        variable = self.variable
        lengths, keys, values = self.flat(places)
        ends = np.concatenate(([0], np.cumsum(np.array(lengths, np.int64))))
        times = np.zeros(int(ends[-1]), np.int64)
        if variable.ttl_ms is not None:
            times[:] = list(chain.from_iterable(map(self.times_of, places)))
        children = [pa.array(times), *self._columns(keys, variable.key), *self._columns(values, variable.value)]
        entries = pa.StructArray.from_arrays(children, fields=list(variable.type.value_type))
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), entries, type=variable.type)

    def _living(self, keys: int, known: Places, column: pa.Array | None) -> _Entries:
        variable, lengths = self.variable, np.zeros(keys, np.int64)
        if column is None:
            return _Entries(lengths, [], [], [])
        lengths[known] = column.value_lengths().fill_null(0).to_numpy()
        entries = column.flatten()
        times: list[int] = []
        if variable.ttl_ms is not None:
            written = entries.field("at").to_numpy()
            living = written + variable.ttl_ms > self.turn.now_ms
            owner = np.repeat(np.arange(keys), lengths)
            self.changed.update(owner[~living].tolist())
            lengths, times = np.bincount(owner[living], minlength=keys), written[living].tolist()
            entries = entries.filter(pa.array(living))
        return _Entries(lengths, times, self._tuples(entries, "k"), self._tuples(entries, "v"))

    def _tuples(self, entries: pa.Array, part: str) -> list[Values]:
        width = len(self.variable.key if part == "k" else self.variable.value)
        zone = self.turn.zone
        return list(zip(*(restored(to_local(entries.field(f"{part}{i}"), zone)) for i in range(width)), strict=True))

    def _columns(self, tuples: list[Values], schema: pa.Schema) -> list[pa.Array]:
        columns: Iterable[Sequence[Any]] = zip(*tuples, strict=True) if tuples else [()] * len(schema)
        return [self._array(values, field) for values, field in zip(columns, schema, strict=True)]

    def _array(self, values: Sequence[Any], field: pa.Field) -> pa.Array:
        try:
            array = pa.array(dismantled(values, field.type), local_type(field.type))
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise OperatorFailed(
                f"the processor gave state {self.variable.name!r} a value that is no {field.type} for the field "
                f"{field.name!r} ({error}); the state is as before the epoch: mend the processor and restart the query"
            ) from error
        return to_instants(array, field.type, self.turn.zone)


class ValueBlock(Block):
    """A tuple per key, or None."""

    def read(self, entries: _Entries) -> None:
        """One entry at most."""
        for place, value in zip(np.flatnonzero(entries.lengths).tolist(), entries.values, strict=True):
            self.held[place] = value
        for place, at in zip(np.flatnonzero(entries.lengths).tolist(), entries.times, strict=False):
            self.times[place] = at

    def empty(self, place: int) -> bool:
        """Whether there is no value."""
        return self.held[place] is None

    def times_of(self, place: int) -> Iterable[int]:
        """The time of the value."""
        return () if self.held[place] is None else (self.times[place],)

    def flat(self, places: Sequence[int]) -> tuple[list[int], list[Values], list[Values]]:
        """The values that are there."""
        held = self.held
        values = [held[place] for place in places]
        return [value is not None for value in values], [], [value for value in values if value is not None]


class ListBlock(Block):
    """A list of tuples per key; None where it has not been asked for."""

    def read(self, entries: _Entries) -> None:
        """Lists stay one behind the other."""
        self._entries, self._ends = entries, [0, *np.cumsum(entries.lengths).tolist()]

    def of(self, place: int) -> Any:
        """A key's list, or map, to be changed in place."""
        held = self.held[place]
        if held is None:
            start, end = self._ends[place], self._ends[place + 1]
            held = self.held[place] = self.unfolded(self._entries.values, start, end)
            self.times[place] = self.unfolded(self._entries.times, start, end)
        return held

    def unfolded(self, parts: list[Any], start: int, end: int) -> Any:
        """One key's part."""
        return parts[start:end]

    def empty(self, place: int) -> bool:
        """Whether the list has nothing in it."""
        held = self.held[place]
        return self._ends[place] == self._ends[place + 1] if held is None else not held

    def times_of(self, place: int) -> Iterable[int]:
        """The time of each element."""
        self.of(place)
        return self.times[place]  # type: ignore[no-any-return]

    def flat(self, places: Sequence[int]) -> tuple[list[int], list[Values], list[Values]]:
        """All elements."""
        lists = [self.of(place) for place in places]
        return [len(held) for held in lists], [], list(chain.from_iterable(lists))


class MapBlock(ListBlock):
    """A dict from tuple to tuple per key."""

    def read(self, entries: _Entries) -> None:
        """Map keys as Python can look them up."""
        if any(pa.types.is_nested(field.type) or pa.types.is_binary(field.type) for field in self.variable.key):
            entries.keys = [tuple(map(hashable, key)) for key in entries.keys]
        super().read(entries)

    def unfolded(self, parts: list[Any], start: int, end: int) -> Any:
        """One key's part, by map key."""
        return dict(zip(self._entries.keys[start:end], parts[start:end], strict=False))

    def times_of(self, place: int) -> Iterable[int]:
        """The time of each pair."""
        return super().times_of(place).values()  # type: ignore[attr-defined,no-any-return]

    def flat(self, places: Sequence[int]) -> tuple[list[int], list[Values], list[Values]]:
        """All pairs."""
        maps = [self.of(place) for place in places]
        values = chain.from_iterable(held.values() for held in maps)
        return [len(held) for held in maps], list(chain.from_iterable(maps)), list(values)


BLOCKS: dict[str, Callable[[Variable, Turn, int, Places, pa.Array | None], Block]] = {
    "value": ValueBlock,
    "list": ListBlock,
    "map": MapBlock,
}


class TimerBlock:
    """The timers of every key; a set where a key has been asked for its own."""

    def __init__(self, keys: int, known: Places, column: pa.Array | None) -> None:
        lengths = np.zeros(keys, np.int64)
        self._timers: list[int] = []
        if column is not None:
            lengths[known] = column.value_lengths().fill_null(0).to_numpy()
            self._timers = column.flatten().to_numpy().tolist()
        self._ends = [0, *np.cumsum(lengths).tolist()]
        self._held: list[set[int] | None] = [None] * keys
        self.changed: set[int] = set()

    def of(self, place: int) -> set[int]:
        """A key's timers, to be changed in place."""
        held = self._held[place]
        if held is None:
            held = self._held[place] = set(self._timers[self._ends[place] : self._ends[place + 1]])
        return held

    def column(self, places: Sequence[int]) -> pa.Array:
        """The timers of these keys, as they rest."""
        lists = [sorted(self.of(place)) for place in places]
        ends = np.cumsum([0, *map(len, lists)])
        timers = pa.array(list(chain.from_iterable(lists)), pa.int64())
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), timers)
