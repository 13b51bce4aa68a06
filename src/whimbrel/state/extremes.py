"""Which row of every group ranks least or greatest, in one pass over values of a fixed width.

Values are compared as words that keep their order. Of equal ranks the earlier row stays the least and the later one
becomes the greatest, so that any split of the rows, taken in order, gives the same row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from whimbrel.state.compiled import I64, I64_IN, INT, U8_IN, kernel
from whimbrel.state.words import to_words, valid_of, words_per_value

Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_NO_LOW = np.zeros(0, np.int64)
_BELOW_SIGN = np.int64(np.iinfo(np.int64).max)
_SIGN = np.int64(np.iinfo(np.int64).min)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Values as words in their order: compare ``high``, then ``low`` where a value has two words."""

    high: Index
    low: Index
    valid: Mask

    @staticmethod
    def of(values: pa.Array) -> Ranked | None:
        """The words of a column, or None for a type whose width varies.

        >>> Ranked.of(pa.array([1.5, -0.0, 0.0, float("nan")])).high.argsort(kind="stable").tolist()
        [1, 2, 0, 3]
        """
        kind = values.type
        if pa.types.is_floating(kind):
            return Ranked(_float_words(values), _NO_LOW, valid_of(values))
        if pa.types.is_decimal128(kind):
            words = to_words(values)
            low = np.ascontiguousarray(words[:, 0]) ^ _SIGN
            return Ranked(np.ascontiguousarray(words[:, 1]), low, valid_of(values))
        if words_per_value(kind) != 1 or pa.types.is_unsigned_integer(kind):
            return None
        return Ranked(np.ascontiguousarray(to_words(values)), _NO_LOW, valid_of(values))

    def chosen(self, group: Index, groups: int, greatest: bool) -> Index:
        """The row of the least or greatest value of every group; -1 where all are null."""
        found = np.full(groups, -1, np.int64)
        _choose(self.high, self.low, group, self.valid.view(np.uint8), int(greatest), found)
        return found

    def above(self, other: Ranked) -> Mask:
        """Row by row, where this value is greater; nulls are to be looked at first."""
        if not self.low.size:
            return self.high > other.high
        return (self.high > other.high) | ((self.high == other.high) & (self.low > other.low))


def _float_words(values: pa.Array) -> Index:
    # Adding zero makes one zero of two; one bit pattern for NaN lies above that of infinity.
    floats = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
    floats[np.isnan(floats)] = np.nan
    bits = floats.view(np.int64)
    return bits ^ ((bits >> 63) & _BELOW_SIGN)


@kernel(types.void, I64_IN, I64_IN, I64_IN, U8_IN, INT, I64)
def _choose(high, low, group, valid, greatest, chosen):  # type: ignore[no-untyped-def]
    for i in range(group.size):
        if not valid[i]:
            continue
        best = chosen[group[i]]
        if best < 0:
            chosen[group[i]] = i
            continue
        below, equal = high[i] < high[best], high[i] == high[best]
        if equal and low.size > 0:
            below, equal = low[i] < low[best], low[i] == low[best]
        if (greatest and not below) or (not greatest and below):
            chosen[group[i]] = i
