"""A slot's committed values, opened outside a stream exactly as a restart would open them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from whimbrel.control.settings import EARLIER, HISTORY
from whimbrel.model.errors import Damaged, JobMismatch
from whimbrel.runtime.operator import Operator
from whimbrel.state.growth import why_not
from whimbrel.state.head import open_head
from whimbrel.state.ledger import SlotLedger, TableSpec

OPERATOR_NOTE = "operator"
"""The note under which a slot's head remembers whose state it is."""
DESCRIPTION_NOTE = "description"
"""The note under which a slot's head remembers which description of its operator it was written under."""
ROWS_NOTE = "rows_in"
"""The note under which a slot's head counts the rows that this slot has taken in. It stays when bins move."""

TIME_MODE = "time_mode"
"""The field of a description that holds what the operator asks of Spark's clock."""

_LISTS = ("cells", "state", "variables")
"""What a description lists of the columns of state: it may become longer."""

Values = Mapping[int, bytes]


@dataclass(frozen=True, slots=True)
class _ReadOnly:
    """A backend that only remembers."""

    head: bytes
    values: Values

    def get_head(self) -> bytes | None:
        return self.head

    def get(self, key: int) -> bytes | None:
        return self.values.get(key)

    def items(self) -> Iterator[tuple[int, bytes]]:
        return iter(self.values.items())

    def put_head(self, data: bytes) -> None:
        raise AssertionError("an opened slot is only read")

    def put(self, key: int, data: bytes) -> None:
        raise AssertionError("an opened slot is only read")

    def remove(self, key: int) -> None:
        raise AssertionError("an opened slot is only read")


def describe_tables(tables: Sequence[TableSpec]) -> list[list[str]]:
    """Table schemas as plain data, for an operator's description; a list, because the order of tables is part of it."""
    return [[spec.name, _to_text(spec.key), _to_text(spec.value)] for spec in tables]


def tables_of(description: Mapping[str, Any]) -> list[TableSpec]:
    """The tables of a described operator."""
    return _tables(description["schemas"])


def earlier_tables_of(description: Mapping[str, Any]) -> list[list[TableSpec]]:
    """The tables that a described operator had before it grew, oldest first."""
    return [_tables(schemas) for schemas in description.get(EARLIER, [])]


def why_not_grow(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Why a described operator cannot become another one, in words; empty where it can: it only gains columns."""
    if TIME_MODE in was and was[TIME_MODE] != now.get(TIME_MODE):
        return (
            f"runs in time mode {was[TIME_MODE]} and now asks for {now.get(TIME_MODE)}, which Spark fixes in the first "
            "epoch: a ttl or a watermark cannot be added or removed at a restart; a new job can begin with the state of "
            "this one (initial=job.state(...))"
        )
    for field, before in was.items():
        after = now.get(field)
        if field in _LISTS:
            lost = [part for part in before if part not in (after or [])]
            if lost:
                return f"keeps {lost[0]!r} among its {field} and now has {after!r}"
        elif field not in ("schemas", *HISTORY) and before != after:
            return f"rests on {field}={before!r} and cannot continue with {after!r}"
    return why_not(tables_of(was), tables_of(now))


def open_slot(
    head: bytes | None, values: Values, operators: Mapping[str, Mapping[str, Any]], where: str
) -> tuple[str, SlotLedger]:
    """Whose state this is, and its ledger. Raises Damaged where a value is missing, foreign or not whole."""
    if head is None:
        raise Damaged(f"{where} has values and no head; restore the checkpoint")
    facts = open_head(head, f"the head of {where}")
    operator = str(facts.notes.get(OPERATOR_NOTE, ""))
    if operator not in operators:
        raise Damaged(
            f"{where} belongs to an operator {operator!r} that the job does not know; restore the control folder"
        )
    described = operators[operator]
    earlier = earlier_tables_of(described)
    return operator, SlotLedger.open(_ReadOnly(head, values), tables_of(described), facts.bits, earlier=earlier)


def _tables(schemas: Sequence[Sequence[str]]) -> list[TableSpec]:
    return [TableSpec(name, _to_schema(key), _to_schema(value)) for name, key, value in schemas]


def claim_slot(notes: dict[str, Any], operator: str, rows: int, where: str) -> None:
    """Note whose state this is and that it takes in ``rows`` more. JobMismatch where it is another operator's."""
    was = notes.get(OPERATOR_NOTE, operator)
    if was != operator:
        raise JobMismatch(
            f"{where} holds the state of operator {was!r}, and operator {operator!r} runs on it now: an operator keeps its "
            f"name and its place in the query; restore name={was!r}, or start a new job directory"
        )
    notes[OPERATOR_NOTE] = operator
    notes[ROWS_NOTE] = int(notes.get(ROWS_NOTE, 0)) + rows


def claim_description(notes: dict[str, Any], operator: Operator, where: str) -> None:
    """Note under which description the slot goes on. JobMismatch where that one was never to follow the state's own.

    So a stream that was built, replaced by another one and started all the same cannot pass its state off as the other's.
    """
    was = int(notes.get(DESCRIPTION_NOTE, operator.number))
    if was != operator.number and was not in operator.follows:
        raise JobMismatch(
            f"{where} holds state of operator {operator.name!r} as it was built before: that stream was started after another "
            "one had taken its place; start the stream that was built last, or a new job directory"
        )
    notes[DESCRIPTION_NOTE] = operator.number


def _to_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def _to_schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
