"""What a ``StatefulProcessor`` asks of Spark, answered from a bin: value, list and map state, timers and TTL.

Every variable of a key is a list of entries, each with the time of its last write. A variable is declared once, in
``init``, which therefore also runs where the stream is built; what has no place in a bin is refused there by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from whimbrel.model.errors import BadInput
from whimbrel.runtime.schemas import arrow_of, parse_ddl

Values = tuple[Any, ...]


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
class Entry:
    """One value with the time of its last write, and its key in a map."""

    at: int
    key: Values
    value: Values


@dataclass(slots=True)
class KeyState:
    """All that is kept for one key, as Python values; ``changed`` says whether it must be written."""

    entries: dict[str, list[Entry]]
    timers: set[int] = field(default_factory=set)
    changed: bool = False


@dataclass(slots=True)
class Clock:
    """The key whose turn it is and the time, shared by all variables of a processor."""

    now_ms: int = 0
    state: KeyState = field(default_factory=lambda: KeyState({}))


class Handle:
    """The ``StatefulProcessorHandle`` that the processor's ``init`` gets."""

    def __init__(self, timers: bool, ttl: bool, known: Mapping[str, Variable] | None = None) -> None:
        # Spark reads DDL on the driver only: a worker is given the variables as the driver understood them.
        self._known = known or {}
        self.variables: dict[str, Variable] = {}
        self.clock = Clock()
        self._timers, self._ttl = timers, ttl

    def getValueState(self, stateName: str, schema: Any, ttlDurationMs: int | None = None) -> ValueState:  # noqa: N802
        """A single value per key."""
        return ValueState(self.clock, self._declare(stateName, "value", schema, None, ttlDurationMs))

    def getListState(self, stateName: str, schema: Any, ttlDurationMs: int | None = None) -> ListState:  # noqa: N802
        """A list of values per key."""
        return ListState(self.clock, self._declare(stateName, "list", schema, None, ttlDurationMs))

    def getMapState(  # noqa: N802
        self,
        stateName: str,
        userKeySchema: Any,
        valueSchema: Any,
        ttlDurationMs: int | None = None,
    ) -> MapState:
        """A map per key."""
        return MapState(self.clock, self._declare(stateName, "map", valueSchema, userKeySchema, ttlDurationMs))

    def registerTimer(self, expiryTimestampMs: int) -> None:  # noqa: N802
        """Calls ``handleExpiredTimer`` for the current key once this time has passed."""
        self._need_timers("registerTimer")
        self.clock.state.timers.add(int(expiryTimestampMs))
        self.clock.state.changed = True

    def deleteTimer(self, expiryTimestampMs: int) -> None:  # noqa: N802
        """Forgets a timer of the current key."""
        self._need_timers("deleteTimer")
        self.clock.state.timers.discard(int(expiryTimestampMs))
        self.clock.state.changed = True

    def listTimers(self) -> Iterator[int]:  # noqa: N802
        """The timers of the current key, earliest first."""
        self._need_timers("listTimers")
        return iter(sorted(self.clock.state.timers))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise BadInput(
            f"StatefulProcessorHandle.{name} cannot be kept in a bin that moves: a processor may use getValueState, "
            "getListState, getMapState, registerTimer, deleteTimer and listTimers"
        )

    def _need_timers(self, what: str) -> None:
        if not self._timers:
            raise BadInput(f"{what} needs a time mode: pass time_mode='ProcessingTime' or 'EventTime'")

    def _declare(self, name: str, kind: str, value: Any, key: Any, ttl_ms: int | None) -> Variable:
        if name in self.variables:
            raise BadInput(f"the processor declares the state {name!r} twice: give each a name of its own")
        if ttl_ms is not None and not self._ttl:
            raise BadInput(f"the TTL of state {name!r} needs time_mode='ProcessingTime', as in Spark")
        if name in self._known:
            self.variables[name] = self._known[name]
            return self._known[name]
        keys = pa.schema([]) if key is None else _schema(key, f"key of state {name!r}")
        made = Variable(name, kind, _schema(value, f"schema of state {name!r}"), keys, ttl_ms)
        self.variables[name] = made
        return made


class _State:
    def __init__(self, clock: Clock, variable: Variable) -> None:
        self._clock, self._variable = clock, variable

    def exists(self) -> bool:
        """Whether the current key has anything here."""
        return bool(self._living())

    def clear(self) -> None:
        """Forgets what the current key has here."""
        self._set([])

    def _living(self) -> list[Entry]:
        held = self._clock.state.entries.get(self._variable.name, [])
        ttl = self._variable.ttl_ms
        return held if ttl is None else [e for e in held if e.at + ttl > self._clock.now_ms]

    def _set(self, entries: list[Entry]) -> None:
        self._clock.state.entries[self._variable.name] = entries
        self._clock.state.changed = True

    def _entry(self, value: Any, key: Any = ()) -> Entry:
        name = self._variable.name
        values = _plain(value, len(self._variable.value), f"state {name!r}")
        return Entry(self._clock.now_ms, _plain(key, len(self._variable.key), f"the key of state {name!r}"), values)


class ValueState(_State):
    """Spark's ``ValueState``."""

    def get(self) -> Values | None:
        """The value, or None."""
        held = self._living()
        return held[0].value if held else None

    def update(self, newValue: Values) -> None:
        """Replaces the value."""
        self._set([self._entry(newValue)])


class ListState(_State):
    """Spark's ``ListState``."""

    def get(self) -> Iterator[Values]:
        """The values in order."""
        return iter([entry.value for entry in self._living()])

    def put(self, newState: Sequence[Values]) -> None:
        """Replaces the list."""
        self._set([self._entry(value) for value in newState])

    def appendValue(self, newState: Values) -> None:  # noqa: N802
        """Adds one value at the end."""
        self._set([*self._living(), self._entry(newState)])

    def appendList(self, newState: Sequence[Values]) -> None:  # noqa: N802
        """Adds values at the end."""
        self._set([*self._living(), *(self._entry(value) for value in newState)])


class MapState(_State):
    """Spark's ``MapState``."""

    def getValue(self, key: Values) -> Values | None:  # noqa: N802
        """The value of a map key, or None."""
        wanted = self._entry_key(key)
        return next((e.value for e in self._living() if e.key == wanted), None)

    def containsKey(self, key: Values) -> bool:  # noqa: N802
        """Whether the map has this key."""
        wanted = self._entry_key(key)
        return any(e.key == wanted for e in self._living())

    def updateValue(self, key: Values, value: Values) -> None:  # noqa: N802
        """Sets the value of a map key."""
        new = self._entry(value, key)
        self._set([*(e for e in self._living() if e.key != new.key), new])

    def removeKey(self, key: Values) -> None:  # noqa: N802
        """Forgets a map key."""
        wanted = self._entry_key(key)
        self._set([e for e in self._living() if e.key != wanted])

    def iterator(self) -> Iterator[tuple[Values, Values]]:
        """All (key, value) pairs."""
        return iter([(e.key, e.value) for e in self._living()])

    def keys(self) -> Iterator[Values]:
        """All map keys."""
        return iter([e.key for e in self._living()])

    def values(self) -> Iterator[Values]:
        """All values."""
        return iter([e.value for e in self._living()])

    def _entry_key(self, key: Any) -> Values:
        return _plain(key, len(self._variable.key), f"the key of state {self._variable.name!r}")


def _plain(value: Any, width: int, what: str) -> Values:
    if not isinstance(value, tuple | list) or len(value) != width:
        raise BadInput(f"{what} takes a tuple of {width} values, not {value!r}")
    return tuple(v.item() if isinstance(v, np.generic) else v for v in value)


def _schema(schema: Any, what: str) -> pa.Schema:
    return arrow_of(schema if isinstance(schema, StructType) else parse_ddl(str(schema), what))
