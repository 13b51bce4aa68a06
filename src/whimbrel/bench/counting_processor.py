"""A counter as a user would write it for ``transformWithStateInPandas``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle


class Counting(StatefulProcessor):
    """One value state per key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._count = handle.getValueState("n", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Add the rows of one key."""
        total = (self._count.get()[0] if self._count.exists() else 0) + sum(len(frame) for frame in rows)
        self._count.update((total,))
        yield pd.DataFrame({"key": [key[0]], "n": [total]})

    def close(self) -> None:
        """Nothing to close."""
