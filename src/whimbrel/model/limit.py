"""The limit that a plan keeps: work of a slot <= (1 + tau) * total work / slots.

Compared exactly. In floating point (1 + 0.4) * 45 is 62.999…, and a feasible plan would be refused;
so the limit is a rational, with ``tau`` read as the decimal that the user wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from whimbrel.model.errors import BadInput
from whimbrel.model.load import Number


@dataclass(frozen=True, slots=True)
class Limit:
    """The most work that one slot may carry, as an exact rational.

    >>> Limit.of(work=[45], slots=1, tau=0.4).value
    Fraction(63, 1)
    """

    value: Fraction

    @staticmethod
    def of(work: Iterable[Number], slots: int, tau: Number | str) -> Limit:
        """The limit for ``slots`` slots at imbalance ``tau`` >= 0 (Definition 3.1: 0.2 means 20 % over the mean)."""
        if slots < 1:
            raise BadInput(f"{slots} slots cannot hold anything: name at least one")
        ratio = Fraction(str(tau))
        if ratio < 0:
            raise BadInput(f"tau is {tau}: it must be zero or more")
        total = sum((exact(value) for value in work), Fraction(0))
        return Limit((1 + ratio) * total / slots)

    def allows(self, work: Number | Fraction) -> bool:
        """Whether a slot with this much work keeps the limit. Equality keeps it."""
        return exact(work) <= self.value


def exact(value: Number | Fraction) -> Fraction:
    """The number as a rational: integers as they are, floats as the shortest decimal that prints them."""
    if isinstance(value, float):
        return Fraction(repr(value))
    return Fraction(value)
