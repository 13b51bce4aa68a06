"""The ledger's backend on Spark's state store: one value for the head, one map for journal and pages.

Every call is a round trip to the JVM, so the ledger makes few. Bytes rest as binary columns; nothing is pickled
into the store by us.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle, ValueState
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

HEAD, LOG = "head", "log"
# Types rather than DDL strings: a string costs one more round trip per task, for the JVM to parse it.
_KEY = StructType([StructField("key", LongType(), False)])
_BYTES = StructType([StructField("bytes", BinaryType(), True)])


class StateStoreBackend:
    """``whimbrel.state.ledger.Backend`` for one group of ``transformWithStateInPandas``."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head: ValueState = handle.getValueState(HEAD, _BYTES)
        self._log: MapState = handle.getMapState(LOG, _KEY, _BYTES)

    def get_head(self) -> bytes | None:
        """The head, or None in a slot that never committed."""
        found = self._head.get()
        return None if found is None or found[0] is None else bytes(found[0])

    def put_head(self, data: bytes) -> None:
        """Replace the head."""
        self._head.update((data,))

    def get(self, key: int) -> bytes | None:
        """One journal or page value."""
        found = self._log.getValue((key,))
        return None if found is None or found[0] is None else bytes(found[0])

    def put(self, key: int, data: bytes) -> None:
        """Write one value."""
        self._log.updateValue((key,), (data,))

    def remove(self, key: int) -> None:
        """Remove one value."""
        self._log.removeKey((key,))

    def items(self) -> Iterator[tuple[int, bytes]]:
        """All values, in no promised order. One at a time: Spark's own bulk iterator would send them as one message."""
        for key in list(self._log.keys()):
            value = self.get(int(key[0]))
            if value is not None:
                yield int(key[0]), value
