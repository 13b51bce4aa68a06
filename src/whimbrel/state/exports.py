"""Bins on their way from one slot to another, as one framed value.

The bytes are a function of the bins' logical content alone (rows by hash, no row numbers, no history), so a retried or a
late task writes the same bytes. Each bin carries a digest of its own part: a receiver may install some and refuse others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whimbrel.model import BadInput, Damaged
from whimbrel.state.arrays import pack_arrays, unpack_arrays
from whimbrel.state.blocks import Block, from_bytes, no_hashes, pack_block, to_bytes
from whimbrel.state.frames import digest, open_frame, seal_frame
from whimbrel.state.table import KeyedTable


@dataclass(frozen=True)
class Arrival:
    """One bin as it arrived: its count of accepted rows, and its blocks."""

    bin: int
    rows: int
    blocks: list[Block]


def export_bins(tables: Sequence[KeyedTable], fingerprint: str, counts: dict[int, int]) -> bytes:
    """These bins (with their counts of accepted rows) as a frame. Raises CopyDamaged."""
    bins = sorted(counts)
    parts = [
        to_bytes([pack_block(n, table, table.scan([b]), no_hashes()) for n, table in enumerate(tables)]) for b in bins
    ]
    facts = {
        "bins": bins,
        "bits": tables[0].bits,
        "digests": [digest(part) for part in parts],
        "fingerprint": fingerprint,
        "lengths": [len(part) for part in parts],
        "rows": [counts[b] for b in bins],
    }
    return seal_frame("bins", pack_arrays(facts, {"body": np.frombuffer(b"".join(parts), np.uint8)}))


def open_export(data: bytes, bins: Sequence[int], fingerprint: str, bits: int, where: str) -> list[Arrival]:
    """These bins of an export. Raises Damaged for bytes that are not whole, BadInput for bins that are not in it."""
    facts, arrays = unpack_arrays(open_frame("bins", data, where))
    if facts["fingerprint"] != fingerprint or facts["bits"] != bits:
        raise BadInput(
            f"{where} holds tables {facts['fingerprint']} with {1 << facts['bits']} bins, and this operator has "
            f"{fingerprint} with {1 << bits}: move bins only between slots of one operator"
        )
    missing = sorted(set(bins) - set(facts["bins"]))
    if missing:
        raise BadInput(f"{where} does not hold bin {missing[0]}: it holds {facts['bins']}")
    body, ends = arrays["body"].tobytes(), np.cumsum(facts["lengths"]).tolist()
    arrivals = []
    for place, b in enumerate(facts["bins"]):
        if b in set(bins):
            part = body[ends[place] - facts["lengths"][place] : ends[place]]
            if digest(part) != facts["digests"][place]:
                raise Damaged(f"bin {b} of {where} does not match its digest: export it again from its old slot")
            arrivals.append(Arrival(b, facts["rows"][place], _blocks_of(b, part, bits, where)))
    return arrivals


def _blocks_of(b: int, part: bytes, bits: int, where: str) -> list[Block]:
    blocks = from_bytes(part)
    if any((block.hashes.bins(bits) != b).any() for block in blocks):
        raise Damaged(f"bin {b} of {where} holds a row of another bin: export it again from its old slot")
    return blocks
