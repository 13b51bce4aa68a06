"""The heartbeat: a source without rows that asks for epochs while something is still under way.

An idle stream has no epochs, and a migration needs a few. The source looks at the control directory and moves
its offset on while records wait or bins travel; it is silent otherwise. Every operator has a heartbeat of its own, and Spark
runs an operator only where one of its sources has something new. Steps are sealed only in epochs that the seal before wanted
(``Seal.wants_epoch``): all heartbeats see that one seal, so they agree on these epochs and every operator runs in them. The
trigger ``availableNow`` is no exception: the heartbeat goes on until a migration has ended.

With event time it also asks for the two epochs after the last rows, so that a window closes when the watermark passes it
and not one event later. Where an operator waits for processing time it asks for an epoch per tick, as Spark's own timers do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from whimbrel.control.activity import epochs_after_rows, is_under_way
from whimbrel.control.seal import Seal
from whimbrel.runtime.place import now_ms, seals_of, store_of

FORMAT = "whimbrel_heartbeat"


class Heartbeat(DataSource):
    """Options: ``directory`` of the job; ``event_time``, "true" where windows must close on an idle stream; ``tick_ms``,
    how long after an epoch the next one is wanted in any case (0: never)."""

    @classmethod
    def name(cls) -> str:
        """The name under which Spark knows the source."""
        return FORMAT

    def schema(self) -> StructType:
        """The schema is the stream's own: the source joins it in a union."""
        raise AssertionError("the heartbeat is always given its stream's schema")

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader; it runs beside the driver."""
        tick_ms = int(self.options.get("tick_ms") or 0)
        return _Reader(self.options["directory"], self.options.get("event_time") == "true", tick_ms)


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(
        self, directory: str, event_time: bool, tick_ms: int = 0, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        # The reader travels to the workers as well, so it names its store and does not hold it.
        self._directory = directory
        self._event_time = event_time
        self._tick_ms, self._clock_ms = tick_ms, clock_ms
        self._beats: int | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Such a run ends once nothing is under way. Ticks never end, so for them its clock stands where it began."""
        began_ms = self._clock_ms()
        self._clock_ms = lambda: began_ms

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"beats": 0}

    def latestOffset(self, start: dict[str, int] | None = None, *limit: Any) -> dict[str, int]:  # noqa: N802
        """One epoch past the newest sealed one while epochs are wanted; where it stood otherwise.

        Counting in sealed epochs makes the offset the same for every reader that looks at the same directory.
        """
        newest = seals_of(self._directory).newest()
        beats = self._beats or (start or {}).get("beats", 0)
        if newest is not None and self._wants_epoch(newest):
            beats = max(beats, newest.epoch + 2)
        self._beats = beats
        return {"beats": beats}

    def _wants_epoch(self, newest: Seal) -> bool:
        if self._tick_ms and self._clock_ms() - newest.sealed_at_ms >= self._tick_ms:
            return True
        store = store_of(self._directory)
        return is_under_way(store, newest) or (self._event_time and epochs_after_rows(store, newest))

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """One empty partition, so that the router runs once even when no other source has data."""
        return [InputPartition(end["beats"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """No rows."""
        return iter(())

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to forget."""

    def stop(self) -> None:
        """Nothing to close."""
