"""The ledger's backend on Spark's state store: one map that holds the head, the journal and the pages.

Every call is a round trip to the JVM, so the ledger makes few. One map and not two variables: Spark prepares every state
variable anew in every task, which costs more than reading a small value. Bytes rest as binary columns; nothing is pickled
into the store by us.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

VALUES = "values"
HEAD_KEY = -1
"""The head's key; journal entries and pages have keys from 0 on."""
# Types rather than DDL strings: a string costs one more round trip per task, for the JVM to parse it.
_KEY = StructType([StructField("key", LongType(), False)])
_BYTES = StructType([StructField("bytes", BinaryType(), True)])


class StateStoreBackend:
    """``whimbrel.state.ledger.Backend`` for one group of ``transformWithStateInPandas``."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._values: MapState = handle.getMapState(VALUES, _KEY, _BYTES)

    def get_head(self) -> bytes | None:
        """The head, or None in a slot that never committed."""
        return self.get(HEAD_KEY)

    def put_head(self, data: bytes) -> None:
        """Replace the head."""
        self.put(HEAD_KEY, data)

    def get(self, key: int) -> bytes | None:
        """One journal or page value."""
        found = self._values.getValue((key,))
        return None if found is None or found[0] is None else bytes(found[0])

    def put(self, key: int, data: bytes) -> None:
        """Write one value."""
        self._values.updateValue((key,), (data,))

    def remove(self, key: int) -> None:
        """Remove one value."""
        self._values.removeKey((key,))

    def items(self) -> Iterator[tuple[int, bytes]]:
        """All values but the head, in no promised order. One at a time: Spark's own bulk iterator would send them as one message."""
        for (key,) in list(self._values.keys()):
            value = None if key == HEAD_KEY else self.get(int(key))
            if value is not None:
                yield int(key), value
