"""Counts clicks in a job that is scaled out and in while it runs, and proves afterwards that no click was lost.

The query is never stopped between the first epoch and the last. The proof leans on nothing of ours: Spark's own batch
query counts the same clicks again, and every page must have the same count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from whimbrel.model import Assignment, Plan
from whimbrel.runtime.job import Job, job
from whimbrel.runtime.listener import EpochListener, EpochReport
from whimbrel.runtime.operators.aggregates import count
from whimbrel.workloads.clicks import click_stream, counts_after
from whimbrel.workloads.watching import EpochSeen, follow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCHS_TO_RELEASE = 2
"""A step's bins leave in one epoch, are installed in the next, and their old copies go in the one after that."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long each part lasts. The warm-up is read but not judged: compilers and caches are still starting.

    Between rescales the query is watched for ``steady_epochs``; on a slow machine for ``steady_seconds``, though never
    for fewer than ``steady_epochs_least``.
    """

    slots: tuple[int, ...] = (2, 4, 3)
    bins: int = 64
    bins_per_step: int = 8
    rows_per_epoch: int = 20_000
    warm_up_epochs: int = 3
    steady_epochs: int = 10
    steady_epochs_least: int = 3
    steady_seconds: float = 10.0
    tau: float = 0.2

    def is_steady(self, epochs: int, seconds: float) -> bool:
        """Whether the query has been watched for long enough."""
        return epochs >= self.steady_epochs or (epochs >= self.steady_epochs_least and seconds >= self.steady_seconds)


@dataclass(frozen=True, slots=True)
class Leg:
    """One rescale as it happened: its plan, and the epochs from the first step sealed to the last old copy released."""

    plan: Plan
    first_epoch: int
    last_epoch: int
    bytes_moved: int

    @property
    def after(self) -> Assignment:
        """Who owns what once it is done."""
        return self.plan.target or self.plan.current


@dataclass(slots=True)
class Outcome:
    """What a run leaves behind. ``audit`` holds the checks by name, and ``ok`` for all of them together."""

    epochs: list[EpochSeen] = field(default_factory=list)
    legs: list[Leg] = field(default_factory=list)
    audit: dict[str, Any] = field(default_factory=dict)


Heard = Callable[[str, EpochSeen | None], None]
"""Called with what is going on, and with the epoch that was just committed, if it is about one."""


def run_live_counts(spark: SparkSession, directory: Path, schedule: Schedule, heard: Heard) -> Outcome:
    """Makes a job in ``directory``, takes it through the schedule, stops it and audits it."""
    slots = schedule.slots
    counter = job(
        spark, "clicks", max_slots=max(slots), bins=schedule.bins, slots=slots[0], directory=directory / "job"
    )
    try:
        outcome = _count(spark, counter, directory / "counts", schedule, heard)
        heard("counting every click again", None)
        outcome.audit = audit_counts(spark, directory / "counts", schedule.rows_per_epoch) | _audit_state(counter)
    finally:
        counter.close()
    outcome.audit["ok"] = outcome.audit["counts_ok"] and outcome.audit["state_ok"]
    return outcome


def _count(spark: SparkSession, counter: Job, results: Path, schedule: Schedule, heard: Heard) -> Outcome:
    counts = counter.aggregate(click_stream(spark, schedule.rows_per_epoch), "page", n=count())
    heard(f"{schedule.slots[0]} slots, warming up", None)
    query = counter.writer(counts).format("parquet").start(str(results))
    ride = _Ride(counter, follow(query), schedule, heard)
    listener = EpochListener(counter.board.store, ride.note)
    spark.streams.addListener(listener)
    try:
        return ride.whole()
    finally:
        query.stop()
        spark.streams.removeListener(listener)


class _Ride:
    """The query from the first epoch to the last, leg by leg."""

    def __init__(
        self,
        counter: Job,
        epochs: Iterator[EpochSeen],
        schedule: Schedule,
        heard: Heard,
        clock_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._job = counter
        self._epochs = epochs
        self._schedule = schedule
        self._heard = heard
        self._outcome = Outcome()
        self._bytes: dict[int, int] = {}
        self._clock_seconds = clock_seconds

    def note(self, report: EpochReport) -> None:
        """What Spark's listener tells about an epoch."""
        self._bytes[report.epoch] = report.bytes_moved

    def whole(self) -> Outcome:
        """Warm up, then hold still, rescale, hold still, as often as the schedule says."""
        first, *others = self._schedule.slots
        for _ in range(self._schedule.warm_up_epochs):
            self._heard(f"{first} slots, warming up", next(self._epochs))
        self._hold_still(first)
        for slots in others:
            self._outcome.legs.append(self._rescale(slots))
            self._hold_still(slots)
        return self._outcome

    def _next_epoch(self, doing: str) -> int:
        seen = next(self._epochs)
        self._outcome.epochs.append(seen)
        self._heard(doing, seen)
        return seen.number

    def _hold_still(self, slots: int) -> None:
        began_seconds = self._clock_seconds()
        epochs = 0
        while not self._schedule.is_steady(epochs, self._clock_seconds() - began_seconds):
            self._next_epoch(f"{slots} slots")
            epochs += 1

    def _rescale(self, slots: int) -> Leg:
        plan = self._feasible_plan(slots)
        posted_after = self._outcome.epochs[-1].number
        self._job.apply(plan, pacing="batched", size=self._schedule.bins_per_step)
        doing = f"{len(plan.current.active_slots)} to {slots} slots, {plan.moves} bins on their way"
        newest = self._next_epoch(doing)
        while not self._job.status().settled:
            newest = self._next_epoch(doing)
        newest = self._next_epoch(doing)
        leaving = self._epochs_with_departures(posted_after + 1, newest)
        moved = sum(self._bytes.get(epoch, 0) for epoch in leaving)
        return Leg(plan, leaving[0], min(leaving[-1] + EPOCHS_TO_RELEASE, newest), moved)

    def _feasible_plan(self, slots: int) -> Plan:
        plan = self._job.plan(slots=slots, planner="ssm", tau=self._schedule.tau)
        if not plan.feasible and plan.smallest_tau is not None:
            return self._job.plan(slots=slots, planner="ssm", tau=plan.smallest_tau)
        return plan

    def _epochs_with_departures(self, first: int, last: int) -> list[int]:
        seals = [(epoch, self._job.board.seals.read(epoch)) for epoch in range(first, last + 1)]
        return [epoch for epoch, seal in seals if seal is not None and seal.leaving.moves]


def audit_counts(spark: SparkSession, results: Path, rows_per_epoch: int) -> dict[str, Any]:
    """Compares the last count of every page with a batch query over the same clicks.

    The clicks must come to a whole number of epochs, each of them counted once.
    """
    last = spark.read.parquet(str(results)).groupBy("page").agg(F.max("n").alias("n"))
    clicks = int(last.agg(F.sum("n")).collect()[0][0])
    right = counts_after(spark, clicks).withColumnRenamed("n", "right")
    wrong = last.join(right, "page", "full").where(~F.col("n").eqNullSafe(F.col("right"))).count()
    whole = clicks % rows_per_epoch == 0
    return {"rows": clicks, "pages": last.count(), "wrong_pages": wrong, "counts_ok": wrong == 0 and whole}


def _audit_state(counter: Job) -> dict[str, Any]:
    found = counter.audit()
    return {"bins": found.bins, "owners_ok": found.owners_ok, "digest_ok": found.digest_ok, "state_ok": found.ok}
