"""A query run over events from files, with migrations at chosen epochs: what ``whimbrel nexmark run`` does.

The events are staged as one file per epoch, so that epochs are the same in every run. Unless a delay is given, the
query waits as long as the latest event needs, so nothing is late; the end of the input closes everything.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whimbrel.model.assignment import Assignment
from whimbrel.model.errors import BadInput, OperatorFailed
from whimbrel.model.plan import Plan
from whimbrel.nexmark.arrivals import end_of_input, lateness_ms, read_events, write_epochs
from whimbrel.nexmark.queries import MIGRATABLE, TIMED, migratable_query
from whimbrel.nexmark.repeated_ids import repeated_ids
from whimbrel.nexmark.results import write_result
from whimbrel.nexmark.settings import Settings
from whimbrel.nexmark.streams import Streams, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from whimbrel.runtime.job import Job

EVENTS_PER_EPOCH = 100_000
_EPOCHS_AFTER_LAST = 4
_RAISED = re.compile(r"^[A-Za-z_.]*(Error|Failed|Damaged|Mismatch|Input|Differs|Driver|InUse): ")


@dataclass(frozen=True, slots=True)
class Run:
    """What to run. ``rescale`` maps an epoch to the slots wanted from then on, ``shuffle`` one to a seed.

    A shuffle sends every bin to a random one of the active slots.
    """

    query: str
    settings: Settings = field(default_factory=Settings)
    delay_ms: int | None = None
    slots: int = 2
    bins: int = 256
    rescale: Mapping[int, int] = field(default_factory=dict)
    shuffle: Mapping[int, int] = field(default_factory=dict)
    pacing: str = "batched"
    p99_ms: float = 2_000
    epochs: int | None = None
    changes: bool = False

    def __post_init__(self) -> None:
        if self.query not in MIGRATABLE:
            raise BadInput(f"there is no query {self.query!r}: there are {', '.join(MIGRATABLE)}")
        if min([self.slots, *self.rescale.values()]) < 1:
            raise BadInput("a job needs at least one slot")
        if min([0, *self.rescale, *self.shuffle]) < 0:
            raise BadInput("epochs count from 0")
        if self.epochs is not None and self.epochs < 1:
            raise BadInput(f"{self.epochs} epochs: the events need at least one")
        if self.epochs is not None and self.turns and self.turns[-1] >= self.epochs:
            raise BadInput(f"epoch {self.turns[-1]} never comes: there are {self.epochs}, counted from 0")
        if self.delay_ms is not None:
            replace(self.settings, delay_ms=self.delay_ms)
        if self.max_slots > self.bins:
            raise BadInput(f"{self.max_slots} slots for {self.bins} bins: a slot needs a bin at least")

    @property
    def max_slots(self) -> int:
        """The most slots that are ever active."""
        return max([self.slots, *self.rescale.values()])

    @property
    def turns(self) -> list[int]:
        """The epochs at which something is posted, ascending."""
        return sorted({*self.rescale, *self.shuffle})

    def epochs_of(self, rows: int) -> int:
        """How many epochs the events are shared out over: some always follow the last migration."""
        if self.epochs is not None:
            return self.epochs
        return max(-(-rows // EVENTS_PER_EPOCH), max(self.turns, default=0) + _EPOCHS_AFTER_LAST)


def refuse_old_results(out: Path) -> None:
    """Raises BadInput where a result would be mixed with something that is there already."""
    if out.is_file() or (out.exists() and any(out.iterdir())):
        raise BadInput(f"{out} is {'a file' if out.is_file() else 'not empty'}: name a new directory for the result")


def run(spark: SparkSession, wanted: Run, events: Path | pa.Table, out: Path) -> dict[str, Any]:
    """Runs the query over files, or over events that are read already, and writes its result to ``out``.

    Returns the counts of the contract, and as ``repeated_ids`` how many ids are not unique though the query needs it.
    """
    refuse_old_results(out)
    begun = time.monotonic()
    rows = events if isinstance(events, pa.Table) else read_events(events)
    with tempfile.TemporaryDirectory(prefix="whimbrel-nexmark-") as folder:
        moves = _Ride(spark, wanted, rows, Path(folder)).ride()
        written = write_result(Path(folder) / "result", out, wanted.query, wanted.changes)
    return {
        "query": wanted.query,
        "rows_in": rows.num_rows,
        "rows_out": written,
        "epochs": wanted.epochs_of(rows.num_rows),
        "moves": moves,
        "seconds": round(time.monotonic() - begun, 3),
        "repeated_ids": repeated_ids(wanted.query, rows),
    }


class _Ride:
    """One query over staged epochs, fed stretch by stretch between the migrations."""

    def __init__(self, spark: SparkSession, wanted: Run, rows: pa.Table, folder: Path) -> None:
        self._spark, self._wanted, self._folder = spark, wanted, folder
        self._source = folder / "source"
        self._source.mkdir()
        delay_ms = lateness_ms(rows) if wanted.delay_ms is None else wanted.delay_ms
        self._settings = replace(wanted.settings, delay_ms=delay_ms)
        end = end_of_input() if wanted.query in TIMED else None
        self._files = write_epochs(rows, folder / "staged", wanted.epochs_of(rows.num_rows), end)

    def ride(self) -> int:
        """Runs to the end of the input; returns how many moves were made."""
        from whimbrel.runtime.job import job

        wanted = self._wanted
        ours = job(
            self._spark,
            f"nexmark-{wanted.query}",
            max_slots=wanted.max_slots,
            bins=wanted.bins,
            slots=wanted.slots,
            directory=self._folder / "job",
        )
        query = self._start(ours)
        try:
            fed = 0
            for turn in [each for each in wanted.turns if each < self._files]:
                fed = self._feed(query, fed, turn)
                self._post(ours, turn)
            self._feed(query, fed, self._files)
            query.processAllAvailable()
            ours.wait()
            query.processAllAvailable()
        finally:
            query.stop()
            ours.close()
        return _moves_made(ours)

    def _start(self, ours: Job) -> StreamingQuery:
        events = self._spark.readStream.schema(spark_schema()).option("maxFilesPerTrigger", "1")
        streams = Streams.of(events.parquet(str(self._source)))
        result = migratable_query(self._wanted.query, ours, streams, self._settings)
        return ours.writer(result).format("parquet").option("path", str(self._folder / "result")).start()

    def _feed(self, query: StreamingQuery, first: int, until: int) -> int:
        """Lets the epochs first..until - 1 into the source and waits until they are committed."""
        for index in range(first, until):
            name = f"epoch-{index:06d}.parquet"
            (self._folder / "staged" / name).rename(self._source / name)
        while until and _files_read(query) < until:
            failure = query.exception()
            if failure is not None:
                raise OperatorFailed(f"{self._wanted.query} stopped: {_reason(failure)}") from failure
            time.sleep(0.05)
        return until

    def _post(self, ours: Job, epoch: int) -> None:
        if epoch in self._wanted.rescale:
            self._apply(ours, _plan(ours, self._wanted.rescale[epoch]))
        if epoch in self._wanted.shuffle:
            self._apply(ours, _shuffled(ours, self._wanted.shuffle[epoch]))

    def _apply(self, ours: Job, plan: Plan) -> None:
        budget = self._wanted.p99_ms if self._wanted.pacing == "budget" else None
        ours.apply(plan, pacing=self._wanted.pacing, p99=budget)


def _plan(ours: Job, slots: int) -> Plan:
    """The least move that balances; where one hot bin breaks every balance, an even split by count."""
    scattered = ours.board.assignment().intervals(slots) is None
    plan = ours.plan(slots=slots, planner="any-map" if scattered else "ssm")
    return plan if plan.feasible else ours.plan(slots=slots, planner="even")


def _shuffled(ours: Job, seed: int) -> Plan:
    """Every bin to a random one of the active slots: no plan that anybody wants, and one that must not matter."""
    current = ours.board.assignment()
    slots = current.active_slots
    owners = np.random.default_rng(seed).choice(np.array(slots), current.bins).tolist()
    unknown: dict[str, Any] = dict.fromkeys(
        ("tau", "cost", "gain", "lower_bound", "limit", "max_load", "hash_cost", "seconds"), 0
    )
    return Plan("shuffle", True, len(slots), current=current, target=Assignment(tuple(owners)), **unknown)


def _files_read(query: StreamingQuery) -> int:
    """How many of the staged files every file source has read in committed epochs."""
    for progress in reversed(query.recentProgress):
        offsets = [source["endOffset"] for source in progress["sources"] if "FileStreamSource" in source["description"]]
        if offsets and all(offsets):
            found = [json.loads(offset) if isinstance(offset, str) else offset for offset in offsets]
            return min(int(offset["logOffset"]) for offset in found) + 1
    return 0


def _moves_made(ours: Job) -> int:
    newest = ours.board.newest()
    seals = ours.board.seals
    found = [] if newest is None else [seals.read(epoch) for epoch in range(newest.epoch + 1)]
    return sum(len(seal.leaving.moves) for seal in found if seal is not None)


def _reason(failure: Exception) -> str:
    """The error of the Python worker where there is one: the last line of the last Python traceback."""
    lines = str(failure).splitlines()
    raised = [line.strip() for line in lines if _RAISED.match(line.strip())]
    return raised[-1] if raised else lines[0]
