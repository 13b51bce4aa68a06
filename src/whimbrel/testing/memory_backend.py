"""A state store for one slot, in memory, with the one promise that matters: an epoch is kept whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator

_HEAD = "head"


class MemoryBackend:
    """``whimbrel.state`` ledgers run on it. ``keep`` commits what was written since the last one, ``lose`` drops it.

    ``calls`` counts round trips and ``largest`` the bytes of the largest value: what an epoch costs on Spark.
    """

    def __init__(self) -> None:
        self.kept: dict[int | str, bytes] = {}
        self.now: dict[int | str, bytes] = {}
        self.largest = self.calls = 0

    def get_head(self) -> bytes | None:
        """See Backend."""
        self.calls += 1
        return self.now.get(_HEAD)

    def put_head(self, data: bytes) -> None:
        """See Backend."""
        self.calls += 1
        self.now[_HEAD] = data

    def get(self, key: int) -> bytes | None:
        """See Backend."""
        self.calls += 1
        return self.now.get(key)

    def put(self, key: int, data: bytes) -> None:
        """See Backend."""
        assert isinstance(key, int) and isinstance(data, bytes), "a state store takes numbers and bytes"
        self.calls += 1
        self.largest = max(self.largest, len(data))
        self.now[key] = data

    def remove(self, key: int) -> None:
        """See Backend."""
        self.calls += 1
        self.now.pop(key, None)

    def items(self) -> Iterator[tuple[int, bytes]]:
        """See Backend."""
        return iter([(key, data) for key, data in self.now.items() if isinstance(key, int)])

    def keep(self) -> None:
        """Commit the epoch."""
        self.kept = dict(self.now)

    def lose(self) -> None:
        """The epoch failed: back to the last commit."""
        self.now = dict(self.kept)
