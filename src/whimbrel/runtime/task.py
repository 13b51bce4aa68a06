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

    @staticmethod
    def here() -> TaskFacts:
        """The facts of the running task; an error outside a streaming query."""
        context = TaskContext.get()
        epoch = context.getLocalProperty("streaming.sql.batchId") if context else None
        if context is None or epoch is None:
            raise WhimbrelError(
                "a Whimbrel operator runs only inside a streaming query: start the result with writeStream"
            )
        return TaskFacts(int(epoch), context.getLocalProperty("sql.streaming.queryId") or "", context.partitionId())
