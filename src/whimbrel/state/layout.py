"""How a row of a table lies in memory: as 64-bit words.

``first | second | check | null words | one word per column (two for 128-bit types)``. Bit 63 of the first null word says
that the row lives; bit c % 63 of null word c // 63 says that column c is not null. A column of varying width holds a
reference into the heap. The words of a null are zero, so equal rows have equal words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whimbrel.model import BadInput
from whimbrel.state.words import words_per_value

FIRST, SECOND, CHECK, NULLS = 0, 1, 2, 3
COLUMNS_PER_NULL_WORD = 63


@dataclass(frozen=True)
class Place:
    """Where a column lies: its first word, how many words, its null bit, and whether its words are references."""

    name: str
    kind: pa.DataType
    word: int
    words: int
    null_word: int
    null_bit: int
    by_reference: bool


class Layout:
    """The places of all columns: the key columns, then the value columns. Raises BadInput for a name used twice."""

    def __init__(self, key: pa.Schema, value: pa.Schema) -> None:
        self.key, self.value = key, value
        fields = [*key, *value]
        self.null_words = max(1, -(-len(fields) // COLUMNS_PER_NULL_WORD))
        at = NULLS + self.null_words
        places = []
        for number, field in enumerate(fields):
            words = words_per_value(field.type)
            null_word, bit = divmod(number, COLUMNS_PER_NULL_WORD)
            places.append(Place(field.name, field.type, at, words or 1, NULLS + null_word, bit, words == 0))
            at += words or 1
        self.width = at
        self.places = tuple(places)
        self._by_name = {place.name: place for place in places}
        if len(self._by_name) != len(places):
            raise BadInput(f"a table has two columns of one name among {[p.name for p in places]}: name each once")
        self.references: npt.NDArray[np.int64] = np.array(
            [[p.word, p.null_word, p.null_bit] for p in places if p.by_reference], np.int64
        ).reshape(-1, 3)
        self.columns: npt.NDArray[np.int64] = np.array(
            [[p.word, p.words, p.null_word, p.null_bit] for p in places], np.int64
        ).reshape(-1, 4)

    def place(self, name: str) -> Place:
        """The place of a column. Raises BadInput for a name that the table does not have."""
        if name not in self._by_name:
            raise BadInput(f"the table has no column {name!r}: it has {sorted(self._by_name)}")
        return self._by_name[name]

    def fingerprint(self) -> str:
        """The columns as text: equal exactly when two tables hold the same columns of the same types in order."""
        parts = (f"{f.name}:{f.type}" for f in self.key)
        return ",".join(parts) + "|" + ",".join(f"{f.name}:{f.type}" for f in self.value)
