"""A query under open-loop load that migrates while it is watched: who was served how late, before, during and after.

An event belongs to *during* when it was due before the migration had settled and committed after it was asked for;
so the rows that queued behind a slow epoch are charged to the migration, wherever they were when it began.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.bench.open_loop import Instants, committed_epochs, histogram, latencies_ms, started_ms, timeline
from whimbrel.model.assignment import Assignment
from whimbrel.model.errors import OperatorFailed

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from whimbrel.runtime.job import Job

LONGEST_SECONDS = 900.0
DRAINED_EPOCHS = STEADY_EPOCHS = 3
LEVEL = 0.8
"""An epoch that takes fewer events than this share of the one before it is still catching up."""
_POLL_SECONDS = 0.2
Due = Callable[[Instants, float], Instants]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of parallelism that was watched, in milliseconds of the clock: steady from ``began_ms`` on, asked for
    at ``moved_ms``, done at ``settled_ms``, steady until ``ended_ms``."""

    name: str
    began_ms: float
    moved_ms: float
    settled_ms: float
    ended_ms: float
    facts: Mapping[str, Any]


def balanced(bins: int, slots: int) -> Assignment:
    """Bin i on slot i mod n."""
    return Assignment(tuple(b % slots for b in range(bins)))


def imbalanced(start: Assignment, slots: int) -> Assignment:
    """Every second bin of the first half of the slots, moved to the slot half the slots further on."""
    half = slots // 2
    owner = list(start.owner)
    for slot in range(half):
        for b in start.bins_of(slot)[::2]:
            owner[b] = slot + half
    return Assignment(tuple(owner))


def is_drained(ends: Sequence[int]) -> bool:
    """Whether no backlog is left after epochs that ended before these events: three more, no longer shrinking.

    >>> is_drained([0, 900, 1500, 1800]), is_drained([0, 900, 1500, 1800, 2080])
    (False, True)
    """
    sizes = np.diff(ends)
    return len(sizes) >= DRAINED_EPOCHS and bool(sizes[-1] >= LEVEL * sizes[-2])


class Watched:
    """A running query and its progress; what it raises is raised here."""

    def __init__(self, query: StreamingQuery, name: str) -> None:
        self._query, self._name = query, name

    def for_seconds(self, seconds: float) -> None:
        """Let it run."""
        deadline = time.monotonic() + seconds
        self._until(lambda: time.monotonic() >= deadline)

    def until_taken(self, events: int) -> None:
        """Until an epoch with more than ``events`` events is committed."""
        self._until(lambda: any(e.until > events for e in committed_epochs([self._query.lastProgress or {}])))

    def steadily(self, seconds: float) -> None:
        """Let it run, and see ``STEADY_EPOCHS`` at least: some event is due and answered meanwhile."""
        deadline = time.monotonic() + seconds
        self._until_ends(lambda ends: len(ends) > STEADY_EPOCHS and time.monotonic() >= deadline)

    def until_drained(self) -> None:
        """Until the rows that queued behind slow epochs are worked off (see ``is_drained``)."""
        self._until_ends(is_drained)

    def _until_ends(self, reached: Callable[[Sequence[int]], bool]) -> None:
        """Until a condition holds for the ends of the epochs that are committed from now on, and of the one before."""
        ends: list[int] = []

        def seen() -> bool:
            newest = committed_epochs([self._query.lastProgress or {}])
            ends.extend(epoch.until for epoch in newest if epoch.until not in ends[-1:])
            return reached(ends)

        self._until(seen)

    def until_settled(self, job: Job) -> None:
        """Until nothing of a migration is under way."""
        self._until(lambda: job.status().settled)

    def _until(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LONGEST_SECONDS
        while not reached():
            failure = self._query.exception()
            if failure is not None:
                raise OperatorFailed(f"{self._name} stopped: {str(failure).splitlines()[0]}")
            if time.monotonic() > deadline:
                raise OperatorFailed(f"{self._name} did not get there in {LONGEST_SECONDS:.0f} s: lower the rate")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> list[Mapping[str, Any]]:
        """Stop it; all its progress reports."""
        self._query.stop()
        return list(self._query.recentProgress)


def change_live(watched: Watched, job: Job, target: Assignment, pacing: str, size: int, seconds: float) -> Change:
    """Steady, the migration, steady. ``size`` is that of batches."""
    from whimbrel.migration import Pacing

    began = _now_ms()
    watched.steadily(seconds)
    first, moved = job.status().epoch, _now_ms()
    moves = len(job.board.assignment().moves_to(target))
    job.board.post_target(target, Pacing.of(pacing, size if pacing == "batched" else None))
    watched.until_settled(job)
    settled = _now_ms()
    facts = {"bins": moves, **_crossed(job, first)}
    watched.steadily(seconds)
    return Change(pacing, began, moved, settled, _now_ms(), facts)


def move_at_once(watched: Watched, job: Job, target: Assignment) -> None:
    """A migration that nobody reports, with all that queued behind it: what is watched next is steady."""
    from whimbrel.migration import Pacing

    job.board.post_target(target, Pacing.of("all-at-once"))
    watched.until_settled(job)
    watched.until_drained()


def _crossed(job: Job, first: int) -> dict[str, int]:
    from whimbrel.control.statistics import read

    sent = [s for name in job.board.operators() for s in read(job.board.store, name, first)]
    steps = {s.epoch for s in sent if s.bins_out}
    return {"bytes": sum(s.bytes_out for s in sent), "steps": len(steps)}


def records(progress: Sequence[Mapping[str, Any]], changes: Sequence[Change], due: Due, preload: int) -> list[Any]:
    """Per change: latency histograms of the three phases, their ratio, and the timeline around it."""
    epochs = committed_epochs(progress)
    numbers = np.arange(preload, max(epochs[-1].until, preload))
    due_ms = due(numbers, started_ms(progress))
    waited = latencies_ms(epochs, lambda _: due_ms, first=preload)
    due_ms = due_ms[: len(waited)]
    return [_record(change, waited, due_ms) for change in changes]


def _record(change: Change, waited: Instants, due_ms: Instants) -> dict[str, Any]:
    done_ms = due_ms + waited
    inside = (due_ms >= change.began_ms) & (due_ms < change.ended_ms)
    during = inside & (done_ms > change.moved_ms) & (due_ms < change.settled_ms)
    before, after = inside & (done_ms <= change.moved_ms), inside & (due_ms >= change.settled_ms)
    phases = {"before": before, "during": during, "after": after}
    latency = {name: histogram(waited[chosen]) for name, chosen in phases.items()}
    return {
        "pacing": change.name,
        "latency_ms": latency,
        "times_steady": _times_steady(waited[before], waited[during]),
        "migration_s": round((change.settled_ms - change.moved_ms) / 1000, 2),
        "moved_at_ms": change.moved_ms - change.began_ms,
        "settled_at_ms": change.settled_ms - change.began_ms,
        **change.facts,
        "timeline": timeline(waited[inside], due_ms[inside], begun_ms=change.began_ms),
    }


def _times_steady(before: Instants, during: Instants) -> float | None:
    """The highest latency during over the highest before; None where one of the phases has no event."""
    if not len(before) or not len(during):
        return None
    return round(int(during.max()) / max(1, int(before.max())), 2)


def _now_ms() -> float:
    return time.time() * 1000
