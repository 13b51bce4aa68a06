"""The job: one directory, one name, its operators, and the handle by which a user plans and applies migrations.

Invariant: while a job object with operators is alive, this process holds the job's lease.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whimbrel.control import lease
from whimbrel.control.board import Board, Status
from whimbrel.control.settings import FOLLOWS, NUMBER, JobSettings, fix_operator, fix_settings
from whimbrel.control.stores import open_store
from whimbrel.control.waiting import wait_until_settled
from whimbrel.migration import Pacing
from whimbrel.model.durations import milliseconds
from whimbrel.model.errors import BadInput
from whimbrel.model.plan import Plan
from whimbrel.runtime.job_operators import JobOperators
from whimbrel.runtime.place import JobPlace, now_ms
from whimbrel.runtime.session import prepare_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from whimbrel.runtime.audit_report import AuditReport
    from whimbrel.runtime.listener import Reports
    from whimbrel.runtime.operator import Operator

_HELD: dict[str, lease.Lease] = {}
"""The leases of this process, by directory: a notebook cell that runs twice is no second driver."""


def job(
    spark: SparkSession,
    name: str,
    *,
    max_slots: int = 8,
    bins: int = 256,
    slots: int | None = None,
    directory: str | Path | None = None,
) -> Job:
    """Open a job, or make it: ``name`` in ``directory`` (by default ``whimbrel-jobs/NAME`` below the working directory).

    ``bins`` (a power of two) and ``max_slots`` are fixed for the life of the job; ``slots`` is how many are active
    in its first epoch (all of them by default). Raises BadInput for impossible numbers, JobMismatch where the
    directory was made with others, JobInUse where another live driver runs the job.
    """
    place = str(Path("whimbrel-jobs", name).absolute()) if directory is None else _absolute(str(directory))
    if place.startswith("memory://"):
        raise BadInput(
            f"{place} lives in one process, and a job's tasks run in others: name a local or an hdfs:// directory"
        )
    wanted = JobSettings(name, bins, max_slots, max_slots if slots is None else slots)
    prepare_session(spark, max_slots)
    settings = fix_settings(open_store(place), wanted, place)
    return Job(spark, place, settings)


def _absolute(directory: str) -> str:
    return directory if "://" in directory else str(Path(directory).absolute())


class Job(JobOperators):
    """Made by ``whimbrel.job``; see there."""

    def __init__(self, spark: SparkSession, directory: str, settings: JobSettings) -> None:
        self._spark = spark
        self.directory = directory
        self.settings = settings
        self.board = Board(directory, now_ms)
        self._installed_in: dict[str, int] = {}

    # -- the query ------------------------------------------------------------------------------------------------

    @property
    def checkpoint(self) -> str:
        """Where the query of this job keeps Spark's checkpoint: pass it as ``checkpointLocation``."""
        return f"{self.directory}/checkpoint"

    def writer(self, result: DataFrame) -> DataStreamWriter:
        """``result.writeStream`` with the job's checkpoint and name already set, and the session set up for this job.

        Start it before another job is opened in this session: Spark takes the number of state partitions from the session
        when a query starts for the first time.
        """
        prepare_session(self._spark, self.settings.max_slots)
        return result.writeStream.option("checkpointLocation", self.checkpoint).queryName(self.settings.name)

    def install(
        self,
        operator: Operator,
        *inputs: DataFrame,
        output_mode: str = "append",
        initial: Mapping[str, DataFrame] | None = None,
    ) -> DataFrame:
        """Put any operator into the stream; ``initial`` names rows that its tables begin with.

        Takes the lease; raises JobMismatch where a restart changed the operator in a way that its state cannot follow.
        What was put in and never ran binds nobody: build the stream anew as it should be.
        """
        from whimbrel.runtime.building import check_mode
        from whimbrel.runtime.committed import newest_with_state
        from whimbrel.runtime.dataflow import install
        from whimbrel.runtime.initial_state import with_initial
        from whimbrel.runtime.opening import TIME_MODE, describe_tables, earlier_tables_of

        check_mode(output_mode)
        epoch = self._check_name(operator.name)
        held = self._take_lease()
        prepare_session(self._spark, self.settings.max_slots)
        description = operator.describe() | {
            "schemas": describe_tables(operator.tables()),
            TIME_MODE: operator.time_mode,
        }
        committed = newest_with_state(self.board, self.checkpoint)
        fixed = fix_operator(
            self.board.store, operator.name, description, self.directory, self._why_not_grow, committed
        )
        operator, seeds = with_initial(self._spark, self.board.store, self.directory, operator, initial or {})
        operator.earlier = earlier_tables_of(fixed)
        operator.number, operator.follows = fixed[NUMBER], fixed.get(FOLLOWS, ())
        self._installed_in[operator.name] = epoch
        place = JobPlace(self.directory, self.settings, held.generation)
        return install(self._spark, place, operator, [*inputs, *seeds], output_mode)

    # -- the migrations -------------------------------------------------------------------------------------------

    def plan(
        self, slots: int | None = None, planner: str = "ssm", tau: float = 0.2, epochs: int = 64, **options: Any
    ) -> Plan:
        """A dry run: what moving to ``slots`` slots would cost, from the load of the last ``epochs`` epochs."""
        from whimbrel.control.proposing import propose

        return propose(self.board, slots, planner, tau, epochs, **options)

    def apply(
        self,
        plan: Plan,
        pacing: str = "batched",
        size: int | None = None,
        gap_epochs: int | None = None,
        p99: str | float | None = None,
        note: str = "",
    ) -> int:
        """Post a plan; it begins at the next epoch. ``p99`` is the budget's, "2 seconds" or milliseconds."""
        p99_ms = None if p99 is None else milliseconds(p99)
        return self.board.post_plan(plan, Pacing.of(pacing, size, gap_epochs, p99_ms), note)

    def wait(self, timeout_seconds: float = 600.0, heard: Callable[[Status], None] | None = None) -> Status:
        """Block until every posted plan has ended and no bytes travel; ``heard`` gets each change on the way.

        Raises TimeoutError, and says where the migration stands, after ``timeout_seconds``; Stalled earlier, where the job is
        paused or its query does not run.
        """
        return wait_until_settled(self.board, timeout_seconds, heard or (lambda _: None))

    def pause(self, note: str = "") -> None:
        """Seal no new steps; the step in flight completes."""
        self.board.pause(note)

    def resume(self, note: str = "") -> None:
        """Go on after a pause."""
        self.board.resume(note)

    def cancel(self, note: str = "") -> None:
        """End the plans in progress and waiting; the assignment stays where it stands."""
        self.board.cancel(note)

    def rollback(
        self,
        pacing: str = "batched",
        size: int | None = None,
        gap_epochs: int | None = None,
        p99: str | float | None = None,
        note: str = "",
    ) -> int:
        """End the plans in progress and waiting, and return to where the one in progress, or else the last one, began."""
        p99_ms = None if p99 is None else milliseconds(p99)
        return self.board.rollback(Pacing.of(pacing, size, gap_epochs, p99_ms), note)

    def status(self) -> Status:
        """Where the job stands now."""
        return self.board.status()

    def history(self) -> Iterator[Mapping[str, object]]:
        """What was posted to this job and how it ended, oldest first."""
        return self.board.history()

    def audit(self) -> AuditReport:
        """Read Spark's committed state and prove that every bin is whole and in exactly one slot."""
        from whimbrel.runtime.audit import audit

        return audit(self._spark, self.board, self.checkpoint)

    def late_rows(self) -> dict[str, int]:
        """How many rows each operator has dropped because they came too late, exactly once, from the committed state."""
        from whimbrel.runtime.reading import late_rows

        return late_rows(self._spark, self.board, self.checkpoint)

    def state(self, operator: str, table: str | None = None) -> DataFrame:
        """The committed state of an operator as a DataFrame: keys, then state columns. ``table`` is its first by default.

        Gathered on the driver. It can be the ``initial`` state of another job.
        """
        from whimbrel.runtime.opening import tables_of
        from whimbrel.runtime.reading import read_table

        known = self.board.operators()
        if operator not in known:
            raise BadInput(f"the job has no operator {operator!r}: it has {', '.join(known) or 'none'}")
        chosen = tables_of(known[operator])[0].name if table is None else table
        return self._spark.createDataFrame(read_table(self._spark, self.board, self.checkpoint, operator, chosen))

    def stats(self, since_epoch: int = 0) -> DataFrame:
        """Rows, time and state per operator, epoch, slot and bin, as a DataFrame."""
        from whimbrel.control.statistics import as_table

        return self._spark.createDataFrame(as_table(self.board.store, since_epoch).to_pandas())

    def listen(self) -> Reports:
        """Report every committed epoch from now on: its length, its rows, the bins and bytes that it moved."""
        from whimbrel.runtime.listener import EpochListener, Reports

        reports = Reports()
        self._spark.streams.addListener(EpochListener(self.board.store, reports))
        return reports

    def close(self) -> None:
        """Give the lease back and drop this machine's local copies. Stop the query first."""
        from whimbrel.runtime.copies import forget_copies

        held = _HELD.pop(self.directory, None)
        if held is not None:
            held.release()
        forget_copies(self.directory)

    def _check_name(self, name: str) -> int:
        """Two operators of one name would share transfers and copies; the same one again after a run is a restart.

        Returns the newest epoch, -1 before the first.
        """
        newest = self.board.newest()
        epoch = -1 if newest is None else newest.epoch
        if self._installed_in.get(name) == epoch:
            raise BadInput(
                f"this job has an operator {name!r} already: give the second one a name of its own (name='...'), or, to "
                "build the query anew, open the job again with whimbrel.job()"
            )
        return epoch

    def _session_zone(self) -> str:
        return str(self._spark.conf.get("spark.sql.session.timeZone"))

    def _session_is_ansi(self) -> bool:
        return str(self._spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"

    def _why_not_grow(self, was: dict[str, Any], now: dict[str, Any]) -> str:
        from whimbrel.runtime.opening import why_not_grow

        # Bins on their way were exported with the columns of before, and an epoch that is replayed exports them again.
        problem = why_not_grow(was, now)
        if not problem and not self.status().settled:
            return "is in the middle of a migration and cannot change before its end: run it to the end as it was"
        return problem

    def _take_lease(self) -> lease.Lease:
        held = _HELD.get(self.directory)
        if held is None or lease.newest_generation(self.board.store) != held.generation:
            held = lease.acquire(self.board.store, self.directory, lease.Holder.myself(), now_ms)
            _HELD[self.directory] = held
            atexit.register(held.release)
        held.look = self._query_runs
        return held

    def _query_runs(self) -> bool:
        newest = self.board.newest()
        query_id = "" if newest is None else newest.query_id
        return any(query.id == query_id or query.name == self.settings.name for query in self._spark.streams.active)
