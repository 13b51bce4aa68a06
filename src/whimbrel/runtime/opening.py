"""A slot's committed values, opened outside a stream exactly as a restart would open them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from whimbrel.model.errors import Damaged, JobMismatch
from whimbrel.state.head import open_head
from whimbrel.state.ledger import SlotLedger, TableSpec

OPERATOR_NOTE = "operator"
"""The note under which a slot's head remembers whose state it is."""
ROWS_NOTE = "rows_in"
"""The note under which a slot's head counts the rows that this slot has taken in. It stays when bins move."""

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
    return [TableSpec(name, _to_schema(key), _to_schema(value)) for name, key, value in description["schemas"]]


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
    return operator, SlotLedger.open(_ReadOnly(head, values), tables_of(operators[operator]), facts.bits)


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


def _to_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def _to_schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
