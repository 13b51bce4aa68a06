"""What the ledger asks of the place where the truth rests: a small map of bytes, written as one transaction per epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa


class Backend(Protocol):
    """One slot's truth. Every call is dear (0.2 to 1 ms on Spark); what an epoch writes counts once Spark commits it."""

    def get_head(self) -> bytes | None:
        """The head of the last committed epoch, or None where nothing was ever committed."""

    def put_head(self, data: bytes) -> None:
        """Replaces the head."""

    def get(self, key: int) -> bytes | None:
        """The value of a key, or None."""

    def put(self, key: int, data: bytes) -> None:
        """Sets the value of a key."""

    def remove(self, key: int) -> None:
        """Forgets a key; one that is not there is no matter."""

    def items(self) -> Iterator[tuple[int, bytes]]:
        """All keys and values but the head, in any order."""


@dataclass(frozen=True)
class TableSpec:
    """One table of an operator: its name, its key columns and its value columns.

    ``defaults`` are the values of columns that rows from before the column was there get; null where none is given.
    """

    name: str
    key: pa.Schema
    value: pa.Schema
    defaults: Mapping[str, Any] = field(default_factory=dict)
