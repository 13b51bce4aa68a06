"""What Spark tells a task about itself: the epoch, the query and the partition."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext

from whimbrel.model.errors import WhimbrelError


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """The epoch and query that this task works for."""

    epoch: int
    query_id: str
    partition: int
    shuffle_partitions: int | None
    """The number that Spark froze in the checkpoint; None where it does not tell its tasks."""

    @staticmethod
    def here() -> TaskFacts:
        """The facts of the running task; an error outside a streaming query."""
        context = TaskContext.get()
        epoch = context.getLocalProperty("streaming.sql.batchId") if context else None
        if context is None or epoch is None:
            raise WhimbrelError(
                "a Whimbrel operator runs only inside a streaming query: start the result with writeStream"
            )
        query_id = context.getLocalProperty("sql.streaming.queryId") or ""
        frozen = context.getLocalProperty("spark.sql.shuffle.partitions")
        return TaskFacts(int(epoch), query_id, context.partitionId(), int(frozen) if frozen else None)
