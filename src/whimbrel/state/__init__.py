"""Bytes at rest: hashes, frames, keyed tables, the ledger of a slot and its post-dated records.

Only the framing is re-exported here, so that a room that reads and writes frames does not wait for a compiler. The
rest is imported from its own module: ``hashing``, ``grouping``, ``table``, ``ledger``, ``postdated``.
"""

from whimbrel.state.frames import digest, open_frame, seal_frame

__all__ = ["digest", "open_frame", "seal_frame"]
