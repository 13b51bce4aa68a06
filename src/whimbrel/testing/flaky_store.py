"""A store behind a bad network: a call may fail before it has reached the store, or after, when nobody knows."""

from __future__ import annotations

import numpy as np

from whimbrel.control.stores import Store


class StoreUnreachable(ConnectionError):
    """The call failed on its way there, or its answer on the way back."""


class FlakyStore:
    """Any store, seen through a network that loses ``share`` of all calls: half of them before, half after the deed.

    A lost answer of ``put_if_absent`` is the hard case: the object is written and the writer does not know that it won.
    """

    def __init__(self, store: Store, rng: np.random.Generator, share: float = 0.1) -> None:
        self._store, self._rng, self._share = store, rng, share
        self.lost_calls = self.lost_answers = 0

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """See Store."""
        self._before(name)
        return self._after(name, self._store.put_if_absent(name, data))

    def get(self, name: str) -> bytes | None:
        """See Store."""
        self._before(name)
        return self._store.get(name)

    def names(self, folder: str) -> list[str]:
        """See Store."""
        self._before(folder)
        return self._store.names(folder)

    def remove(self, name: str) -> None:
        """See Store."""
        self._before(name)
        self._store.remove(name)
        self._after(name, True)

    def remove_folder(self, folder: str) -> None:
        """See Store."""
        self._before(folder)
        self._store.remove_folder(folder)
        self._after(folder, True)

    def replace(self, name: str, data: bytes) -> None:
        """See Store."""
        self._before(name)
        self._store.replace(name, data)
        self._after(name, True)

    def _before(self, name: str) -> None:
        if self._rng.random() < self._share / 2:
            self.lost_calls += 1
            raise StoreUnreachable(f"{name}: the store could not be reached")

    def _after(self, name: str, answer: bool) -> bool:
        if self._rng.random() < self._share / 2:
            self.lost_answers += 1
            raise StoreUnreachable(f"{name}: the answer of the store was lost")
        return answer
