"""The head of a slot's ledger: what was last committed, in one small value.

The chain names the whole history: it is a digest over the previous chain and everything that the epoch changed. Two
states with equal chains are equal, so a copy that carries the chain of the head is the committed version.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel.state.arrays import pack_arrays, unpack_arrays
from whimbrel.state.frames import open_frame, seal_frame
from whimbrel.state.pages import PageMap, pages_from

Counts = npt.NDArray[np.int64]

ABSENT = -1


class OwnedBins(Mapping[int, int]):
    """The bins that a slot owns, each with its stamp: the number of the move that brought it, 0 from the beginning."""

    def __init__(self, stamps: Counts) -> None:
        self.stamps = stamps

    def __getitem__(self, key: int) -> int:
        if not 0 <= key < len(self.stamps) or self.stamps[key] == ABSENT:
            raise KeyError(key)
        return int(self.stamps[key])

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(self.stamps != ABSENT).tolist())

    def __len__(self) -> int:
        return int((self.stamps != ABSENT).sum())


class Head:
    """The facts of the last commit, and the working copy of them for the next one."""

    def __init__(self, fingerprint: str, bits: int) -> None:
        bins = 1 << bits
        self.fingerprint, self.bits = fingerprint, bits
        self.epoch = -1
        self.chain = hashlib.blake2b(f"{bits}|{fingerprint}".encode(), digest_size=16).digest()
        self.stamps: Counts = np.full(bins, ABSENT, np.int64)
        self.since: Counts = np.zeros(bins, np.int64)
        self.rows: Counts = np.zeros(bins, np.int64)
        self.pages = PageMap.empty()
        self.journal_first = 0
        self.journal_sizes: list[int] = []
        self.credit = 0.0
        self.notes: dict[str, Any] = {}

    @property
    def journal_next(self) -> int:
        """The number of the next journal entry."""
        return self.journal_first + len(self.journal_sizes)

    def link(self, epoch: int, journal: list[bytes]) -> None:
        """Takes the epoch and what it changed into the chain."""
        sums = {name: zlib.crc32(array.tobytes()) for name, array in self._bin_arrays().items()}
        link = hashlib.blake2b(self.chain, digest_size=16)
        for payload in (*journal, pack_arrays({"epoch": epoch, "notes": self.notes, "sums": sums}, {})):
            link.update(len(payload).to_bytes(8, "little"))
            link.update(payload)
        self.epoch, self.chain = epoch, link.digest()

    def seal(self) -> bytes:
        """The head as a frame."""
        facts = {
            "bits": self.bits,
            "chain": self.chain.hex(),
            "credit": self.credit,
            "epoch": self.epoch,
            "fingerprint": self.fingerprint,
            "hand": self.pages.hand,
            "journal_first": self.journal_first,
            "next_number": self.pages.next_number,
            "notes": self.notes,
        }
        arrays = {**self._bin_arrays(), **self.pages.arrays(), "journal_sizes": np.array(self.journal_sizes, np.int32)}
        return seal_frame("head", pack_arrays(facts, arrays))

    def _bin_arrays(self) -> dict[str, npt.NDArray[Any]]:
        owned = np.flatnonzero(self.stamps != ABSENT)
        return {
            "bins": owned.astype(np.int32),
            "stamps": self.stamps[owned],
            "since": self.since[owned],
            "rows": self.rows[owned],
        }


def open_head(data: bytes, where: str) -> Head:
    """The head in these bytes. Raises Damaged."""
    facts, arrays = unpack_arrays(open_frame("head", data, where))
    head = Head(facts["fingerprint"], facts["bits"])
    head.epoch, head.chain = facts["epoch"], bytes.fromhex(facts["chain"])
    head.stamps[arrays["bins"]] = arrays["stamps"]
    head.since[arrays["bins"]] = arrays["since"]
    head.rows[arrays["bins"]] = arrays["rows"]
    head.pages = PageMap(pages_from(arrays["page_lows"], arrays["pages"]), facts["hand"], facts["next_number"])
    head.journal_first, head.journal_sizes = facts["journal_first"], arrays["journal_sizes"].tolist()
    head.credit, head.notes = facts["credit"], facts["notes"]
    return head
