"""Base pages: the whole hash range of a slot in contiguous pieces, rewritten in turn by a clock hand.

Invariant: the pages' ranges cover 0 .. 2^64 - 1 without gap or overlap, in order. A page that says ``position`` p holds
every change of its range from journal entries before p, so an entry before all positions is no longer needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

LAST_HASH = (1 << 64) - 1
NEVER = -1


@dataclass(frozen=True)
class Page:
    """Rows with ``low`` <= hash < the next page's low, stored under ``number`` (NEVER: not written yet)."""

    low: int
    number: int
    position: int
    epoch: int
    bytes: int


class SizeMap:
    """How many bytes lie below a hash, read off the bins' sizes as if each bin were evenly filled."""

    def __init__(self, sizes: npt.NDArray[np.int64], bits: int) -> None:
        self._below = np.concatenate(([0.0], np.cumsum(sizes, dtype=np.float64)))
        self._span = float(1 << (64 - bits))
        self._bins = len(sizes)

    def between(self, low: int, high: int) -> float:
        """The bytes with low <= hash <= high."""
        return self._at(high + 1) - self._at(low)

    def cut(self, low: int, high: int, size: float) -> int:
        """The hash up to which about ``size`` bytes lie, counted from ``low``; low <= cut < high."""
        goal = self._at(low) + size
        b = int(np.clip(np.searchsorted(self._below, goal, side="right") - 1, 0, self._bins - 1))
        inside = self._below[b + 1] - self._below[b]
        share = (goal - self._below[b]) / inside if inside else 0.0
        return int(min(max(low, int((b + share) * self._span)), high - 1))

    def _at(self, position: int) -> float:
        b, rest = divmod(position, int(self._span))
        if b >= self._bins:
            return float(self._below[-1])
        return float(self._below[b] + (self._below[b + 1] - self._below[b]) * (rest / self._span))


class PageMap:
    """The pages of a slot and the hand, which always rests at the low end of a page."""

    def __init__(self, pages: list[Page], hand: int, next_number: int) -> None:
        self.pages, self.hand, self.next_number = pages, hand, next_number

    @staticmethod
    def empty() -> PageMap:
        """One page over everything, never written."""
        return PageMap([Page(0, NEVER, 0, -1, 0)], 0, 0)

    @property
    def bytes(self) -> int:
        """How much the pages take."""
        return sum(page.bytes for page in self.pages)

    @property
    def position(self) -> int:
        """The first journal entry that some page still needs."""
        return min(page.position for page in self.pages)

    def high(self, place: int) -> int:
        """The last hash of the page at this place of the list."""
        return self.pages[place + 1].low - 1 if place + 1 < len(self.pages) else LAST_HASH

    def next_piece(self, sizes: SizeMap, page_bytes: int) -> tuple[int, int]:
        """The range (low, high) that the hand rewrites next: a page, part of a large one, or several small ones."""
        place = self._place()
        low, high = self.pages[place].low, self.high(place)
        size = sizes.between(low, high)
        if size > 1.25 * page_bytes and low < high:
            return low, sizes.cut(low, high, size / max(2.0, np.ceil(size / page_bytes)))
        while place + 1 < len(self.pages) and sizes.between(low, self.high(place + 1)) < page_bytes / 2:
            place += 1
            high = self.high(place)
        return low, high

    def written(self, high: int, position: int, epoch: int, size: int) -> tuple[int, list[int]]:
        """Records that the range from the hand to ``high`` is written: under which number, and which fall free."""
        place = self._place()
        stop = place + 1
        while self.high(stop - 1) < high:
            stop += 1
        covered = self.pages[place:stop]
        partly = self.high(stop - 1) > high
        free = [page.number for page in (covered[:-1] if partly else covered) if page.number != NEVER]
        number = free.pop(0) if free else self.next_number
        self.next_number = max(self.next_number, number + 1)
        fresh = [Page(self.hand, number, position, epoch, size)]
        if partly:
            fresh.append(replace(covered[-1], low=high + 1))
        self.pages[place:stop] = fresh
        self.hand = 0 if high == LAST_HASH else high + 1
        return number, free

    def arrays(self) -> dict[str, npt.NDArray[np.int64] | npt.NDArray[np.uint64]]:
        """The pages as arrays, for the head."""
        rest = [[page.number, page.position, page.epoch, page.bytes] for page in self.pages]
        return {"page_lows": np.array([page.low for page in self.pages], np.uint64), "pages": np.array(rest, np.int64)}

    def _place(self) -> int:
        lows = [page.low for page in self.pages]
        return lows.index(self.hand)


def pages_from(lows: npt.NDArray[np.uint64], rest: npt.NDArray[np.int64]) -> list[Page]:
    """The pages whose arrays these are."""
    return [Page(low, *row) for low, row in zip(lows.tolist(), rest.tolist(), strict=True)]
