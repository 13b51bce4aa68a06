"""Exact projected costs on Spark: the minimisations of a sweep as rows, blocks of partitions at a time.

The driver keeps the costs and follows the choices, which takes milliseconds; the tasks search. A task is told the
instance and the costs of the sweep, once each, with the function that Spark ships to it; it lists the partitions
itself and remembers them for the next sweep. Only DataFrames are used, so this also runs on Spark Connect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from whimbrel.planning.projection_exact import project_exact
from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_iteration import TOLERANCE, Progress, Solver
from whimbrel.planning.projection_problem import Block, Problem, Solved
from whimbrel.planning.projection_search import Target
from whimbrel.planning.projection_space import FloatArray

BLOCKS_PER_TASK_SLOT = 12
"""Blocks of a sweep per core: enough that the last one to finish keeps nobody waiting for long."""

SEARCHES_LEAST = 2_000
"""A block of fewer minimisations takes less time than starting its task."""

POLL_SECONDS = 2.0

Working = Callable[[int, int], None]
"""Told how many tasks of a sweep are done, and of how many."""

SCHEMA = "source int, target int, start int, stop int, evaluated long, `values` binary, chosen binary"
ANSWER = pa.schema(
    [
        ("source", pa.int32()),
        ("target", pa.int32()),
        ("start", pa.int32()),
        ("stop", pa.int32()),
        ("evaluated", pa.int64()),
        ("values", pa.binary()),
        ("chosen", pa.binary()),
    ]
)


def project_on_spark(
    spark: SparkSession,
    problem: Problem,
    folder: Path,
    after_sweep: Callable[[Progress], None] = lambda progress: None,
    tolerance: float = TOLERANCE,
    working: Working = lambda done, tasks: None,
) -> Progress:
    """As ``project_exact``, with every sweep carried out by the cores of ``spark``.

    ``working`` is told, while a sweep runs, how many of its tasks are done, where the session can say so.
    """
    return project_exact(problem, folder, spark_solver(spark, working), after_sweep, tolerance)


def spark_solver(spark: SparkSession, working: Working = lambda done, tasks: None) -> Solver:
    """A solver that runs the blocks of a sweep as tasks of one Spark job."""

    def solve(problem: Problem, progress: Progress) -> Iterable[Solved]:
        fair = problem.size * len(problem.spaces) // (BLOCKS_PER_TASK_SLOT * parallelism(spark))
        most = max(SEARCHES_LEAST, fair)
        blocks = problem.blocks(most)
        rows = spark.createDataFrame(_block_table(blocks)).repartitionById(len(blocks), "place")
        answers = rows.mapInArrow(block_solver(problem, progress), SCHEMA)
        with Watched(spark, working):
            table = answers.toArrow()
        return [_solved(row) for row in table.to_pylist()]

    return solve


def parallelism(spark: SparkSession) -> int:
    """How many tasks the session runs at once, as far as it says."""
    return max(1, int(spark.conf.get("spark.default.parallelism", "") or _cores_of(spark)))


def _cores_of(spark: SparkSession) -> int:
    context = getattr(spark, "sparkContext", None)
    return int(context.defaultParallelism) if context is not None else 2


def _block_table(blocks: list[Block]) -> pa.Table:
    columns: dict[str, Any] = {
        name: pa.array([getattr(block, name) for block in blocks], pa.int32())
        for name in ("source", "target", "start", "stop")
    }
    return pa.table({"place": pa.array(range(len(blocks)), pa.int32()), **columns})


def block_solver(
    problem: Problem, progress: Progress
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark ships: everything that it closes over is plain data."""
    instance = problem.instance.to_json()
    digest = problem.instance.digest
    sweep = progress.sweeps
    discounted = problem.instance.gamma * progress.costs
    weights = progress.weights
    chosen = progress.chosen

    def solve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = listed(digest, ProjectionInstance.from_json(instance))
        for batch in batches:
            for row in batch.to_pylist():
                block = Block(row["source"], row["target"], row["start"], row["stop"])
                target = here.target(sweep, block.target, discounted, weights[block.target])
                first = here.problem.base[block.source]
                warm = np.ascontiguousarray(chosen[first + block.start : first + block.stop, block.target])
                yield _answer(here.problem.solve(block, target, warm))

    return solve


class Listed:
    """The partitions of one instance in a worker, and the search targets of the sweep at hand."""

    def __init__(self, instance: ProjectionInstance) -> None:
        self.problem = Problem.of(instance)
        self._targets: dict[tuple[int, int], Target] = {}

    def target(self, sweep: int, state: int, discounted: FloatArray, weights: FloatArray) -> Target:
        """The target of a slot count in this sweep; those of earlier sweeps are forgotten."""
        if (sweep, state) not in self._targets:
            self._targets = {key: kept for key, kept in self._targets.items() if key[0] == sweep}
            self._targets[sweep, state] = self.problem.target(discounted, weights, state)
        return self._targets[sweep, state]


_HELD: dict[str, Listed] = {}


def listed(digest: str, instance: ProjectionInstance) -> Listed:
    """The partitions of an instance, listed once per worker process; only the last instance is kept."""
    if digest not in _HELD:
        _HELD.clear()
        _HELD[digest] = Listed(instance)
    return _HELD[digest]


def _answer(solved: Solved) -> pa.RecordBatch:
    block = solved.block
    row = {
        "source": block.source,
        "target": block.target,
        "start": block.start,
        "stop": block.stop,
        "evaluated": solved.evaluated,
        "values": solved.values.tobytes(),
        "chosen": solved.chosen.tobytes(),
    }
    return pa.RecordBatch.from_pylist([row], schema=ANSWER)


def _solved(row: dict[str, Any]) -> Solved:
    block = Block(row["source"], row["target"], row["start"], row["stop"])
    values = np.frombuffer(row["values"], np.float64)
    return Solved(block, values, np.frombuffer(row["chosen"], np.int32), row["evaluated"])


class Watched:
    """While inside, tells ``working`` every few seconds how many tasks of the running job are done, of how many.

    Only a classic session can say; on any other nothing is told, and nothing is lost but the telling.
    """

    def __init__(self, spark: SparkSession, working: Working) -> None:
        self._spark, self._working = spark, working
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *failure: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        told: tuple[int, int] | None = None
        while not self._done.wait(POLL_SECONDS):
            state = self._state()
            if state is not None and state != told:
                self._working(*state)
                told = state

    def _state(self) -> tuple[int, int] | None:
        context = getattr(self._spark, "sparkContext", None)
        if context is None:
            return None
        tracker = context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        running = [stage for stage in stages if stage is not None and stage.numTasks > 1]
        return next(((stage.numCompletedTasks, stage.numTasks) for stage in running), None)
