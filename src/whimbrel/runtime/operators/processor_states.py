"""What a ``StatefulProcessor`` asks of Spark, answered from a bin: value, list and map state, timers and TTL.

A variable is declared once, in ``init``, which therefore also runs where the stream is built; what has no place in a
bin is refused there by name. The variables of a turn's keys lie in blocks, which the handle gives to their states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from whimbrel.model.errors import BadInput
from whimbrel.runtime.operators.processor_blocks import (
    BLOCKS,
    Block,
    ListBlock,
    MapBlock,
    TimerBlock,
    Turn,
    ValueBlock,
    Values,
    Variable,
)
from whimbrel.runtime.operators.python_values import hashable, plain, row
from whimbrel.runtime.schemas import arrow_of, parse_ddl

S = TypeVar("S", bound="_State")
_NOBODY = np.zeros(0, np.int64)


class Handle:
    """The ``StatefulProcessorHandle`` that the processor's ``init`` gets; ``turn`` says whose turn it is."""

    def __init__(self, timers: bool, ttl: bool, zone: str, known: Mapping[str, Variable] | None = None) -> None:
        # Spark reads DDL on the driver only: a worker is given the variables as the driver understood them.
        self._known = known or {}
        self.turn = Turn(zone=zone)
        self._states: dict[str, _State] = {}
        self._timers, self._ttl = timers, ttl
        self._block = TimerBlock(1, _NOBODY, None)

    @property
    def variables(self) -> list[Variable]:
        """What the processor has declared."""
        return [state.variable for state in self._states.values()]

    def serve(self, blocks: Sequence[Block], timers: TimerBlock) -> None:
        """Answers for the keys of these blocks, one per variable, from now on."""
        self._block = timers
        for block in blocks:
            if block.variable.name in self._states:
                self._states[block.variable.name].serve(block)

    def getValueState(self, stateName: str, schema: Any, ttlDurationMs: int | None = None) -> ValueState:  # noqa: N802
        """A single value per key."""
        return self._add(ValueState(self.turn, self._declare(stateName, "value", schema, None, ttlDurationMs)))

    def getListState(self, stateName: str, schema: Any, ttlDurationMs: int | None = None) -> ListState:  # noqa: N802
        """A list of values per key."""
        return self._add(ListState(self.turn, self._declare(stateName, "list", schema, None, ttlDurationMs)))

    def getMapState(  # noqa: N802
        self,
        stateName: str,
        userKeySchema: Any,
        valueSchema: Any,
        ttlDurationMs: int | None = None,
    ) -> MapState:
        """A map per key."""
        return self._add(
            MapState(self.turn, self._declare(stateName, "map", valueSchema, userKeySchema, ttlDurationMs))
        )

    def registerTimer(self, expiryTimestampMs: int) -> None:  # noqa: N802
        """Calls ``handleExpiredTimer`` for the current key once this time has passed."""
        self._need_timers("registerTimer")
        self._block.of(self.turn.place).add(int(expiryTimestampMs))
        self._block.changed.add(self.turn.place)

    def deleteTimer(self, expiryTimestampMs: int) -> None:  # noqa: N802
        """Forgets a timer of the current key."""
        self._need_timers("deleteTimer")
        self._block.of(self.turn.place).discard(int(expiryTimestampMs))
        self._block.changed.add(self.turn.place)

    def listTimers(self) -> Iterator[int]:  # noqa: N802
        """The timers of the current key, earliest first."""
        self._need_timers("listTimers")
        return iter(sorted(self._block.of(self.turn.place)))

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

    def _add(self, state: S) -> S:
        self._states[state.variable.name] = state
        return state

    def _declare(self, name: str, kind: str, value: Any, key: Any, ttl_ms: int | None) -> Variable:
        if name in self._states:
            raise BadInput(f"the processor declares the state {name!r} twice: give each a name of its own")
        if ttl_ms is not None and not self._ttl:
            raise BadInput(f"the TTL of state {name!r} needs time_mode='ProcessingTime', as in Spark")
        if name in self._known:
            return self._known[name]
        keys = pa.schema([]) if key is None else _schema(key, f"key of state {name!r}")
        return Variable(name, kind, _schema(value, f"schema of state {name!r}"), keys, ttl_ms)


class _State:
    """A state of the current key. Writes in ``init``, which has no key, go nowhere, as in Spark's driver."""

    def __init__(self, turn: Turn, variable: Variable) -> None:
        self._turn, self.variable = turn, variable
        self._width, self._what = len(variable.value), f"state {variable.name!r}"
        self._block: Any
        self.serve(BLOCKS[variable.kind](variable, turn, 1, _NOBODY, None))

    def serve(self, block: Block) -> None:
        """Answers for the keys of this block from now on."""
        self._block = block

    def exists(self) -> bool:
        """Whether the current key has anything here."""
        return not self._block.empty(self._turn.place)

    def _plain(self, value: Any, width: int, what: str) -> Values:
        if not isinstance(value, tuple | list) or len(value) != width:
            raise BadInput(f"{what} takes a tuple of {width} values, not {value!r}")
        zone = self._turn.zone
        return tuple([plain(part, zone) for part in value])


class ValueState(_State):
    """Spark's ``ValueState``."""

    _block: ValueBlock

    def get(self) -> Values | None:
        """The value, or None."""
        return self._block.held[self._turn.place]  # type: ignore[no-any-return]

    def update(self, newValue: Values) -> None:
        """Replaces the value."""
        self._put(self._plain(newValue, self._width, self._what))

    def clear(self) -> None:
        """Forgets the value."""
        self._put(None)

    def _put(self, value: Values | None) -> None:
        place, block = self._turn.place, self._block
        block.held[place], block.times[place] = value, self._turn.now_ms
        block.changed.add(place)


class ListState(_State):
    """Spark's ``ListState``."""

    _block: ListBlock

    def get(self) -> Iterator[Values]:
        """The values in order, as they are now."""
        return iter(self._block.of(self._turn.place)[:])

    def put(self, newState: Sequence[Values]) -> None:
        """Replaces the list."""
        values = [self._plain(value, self._width, self._what) for value in newState]
        self.clear()
        self._extend(values)

    def appendValue(self, newState: Values) -> None:  # noqa: N802
        """Adds one value at the end."""
        self._extend((self._plain(newState, self._width, self._what),))

    def appendList(self, newState: Sequence[Values]) -> None:  # noqa: N802
        """Adds values at the end."""
        self._extend([self._plain(value, self._width, self._what) for value in newState])

    def clear(self) -> None:
        """Forgets the list."""
        place, block = self._turn.place, self._block
        block.held[place], block.times[place] = [], []
        block.changed.add(place)

    def _extend(self, values: Sequence[Values]) -> None:
        place, block = self._turn.place, self._block
        block.of(place).extend(values)
        block.times[place].extend([self._turn.now_ms] * len(values))
        block.changed.add(place)


class MapState(_State):
    """Spark's ``MapState``."""

    _block: MapBlock

    def getValue(self, key: Values) -> Values | None:  # noqa: N802
        """The value of a map key as a row, or None."""
        found = self._block.of(self._turn.place).get(self._key(key))
        return None if found is None else row(self.variable.value.names, found)

    def containsKey(self, key: Values) -> bool:  # noqa: N802
        """Whether the map has this key."""
        return self._key(key) in self._block.of(self._turn.place)

    def updateValue(self, key: Values, value: Values) -> None:  # noqa: N802
        """Sets the value of a map key."""
        place, block, wanted = self._turn.place, self._block, self._key(key)
        block.of(place)[wanted] = self._plain(value, self._width, self._what)
        block.times[place][wanted] = self._turn.now_ms
        block.changed.add(place)

    def removeKey(self, key: Values) -> None:  # noqa: N802
        """Forgets a map key."""
        place, block, wanted = self._turn.place, self._block, self._key(key)
        if block.of(place).pop(wanted, None) is not None:
            block.times[place].pop(wanted, None)
            block.changed.add(place)

    def iterator(self) -> Iterator[tuple[Values, Values]]:
        """All (key, value) pairs, as they are now."""
        return iter(list(self._block.of(self._turn.place).items()))

    def keys(self) -> Iterator[Values]:
        """All map keys."""
        return iter(list(self._block.of(self._turn.place)))

    def values(self) -> Iterator[Values]:
        """All values."""
        return iter(list(self._block.of(self._turn.place).values()))

    def clear(self) -> None:
        """Forgets the map."""
        place, block = self._turn.place, self._block
        block.held[place], block.times[place] = {}, {}
        block.changed.add(place)

    def _key(self, key: Any) -> Values:
        names = self.variable.key
        return tuple(map(hashable, self._plain(key, len(names), f"the key of {self._what}")))


def _schema(schema: Any, what: str) -> pa.Schema:
    return arrow_of(schema if isinstance(schema, StructType) else parse_ddl(str(schema), what))
