"""Spark's own progress beside Whimbrel's: after every epoch one line with its length and what it moved.

Runs in the driver process. A lost line costs a point in a chart and nothing else.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from whimbrel.control import statistics
from whimbrel.control.seal import Seal
from whimbrel.control.seals import SealBook
from whimbrel.control.stores import Store


@dataclass(frozen=True, slots=True)
class EpochReport:
    """One committed epoch as the driver saw it."""

    epoch: int
    ended_at_ms: int
    duration_ms: int
    rows: int
    bins_moved: int
    bytes_moved: int
    plan: int
    step: int


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step: what it moved, and how long from the begin of its first epoch to the commit of its installs."""

    step: int
    plan: int
    epoch: int
    bins_moved: int
    bytes_moved: int
    duration_ms: int


class EpochListener(StreamingQueryListener):
    """Collects reports of one job's query and hands each to ``heard``."""

    def __init__(self, store: Store, heard: Callable[[EpochReport], None]) -> None:
        self._store = store
        self._heard = heard
        self._seals = SealBook(store)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing to do: the first epoch tells."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """One epoch was committed."""
        progress = event.progress
        seal = self._seals.read(int(progress.batchId))
        if seal is not None and seal.query_id == str(progress.id):
            self._heard(self._report(progress, seal))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """An idle stream has no epochs to report."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Spark tells whoever waits for the query."""

    def _report(self, progress: Any, seal: Seal) -> EpochReport:
        epoch = int(progress.batchId)
        sent = 0
        for operator in self._store.names("stats"):
            sent += sum(s.bytes_out for s in statistics.read(self._store, operator, epoch) if s.epoch == epoch)
        return EpochReport(
            epoch=epoch,
            ended_at_ms=_instant_ms(str(progress.timestamp)) + int(progress.durationMs.get("triggerExecution", 0)),
            duration_ms=int(progress.durationMs.get("triggerExecution", 0)),
            rows=int(progress.numInputRows),
            bins_moved=len(seal.leaving.moves),
            bytes_moved=sent,
            plan=seal.plan,
            step=seal.leaving.number,
        )


def _instant_ms(text: str) -> int:
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class Reports:
    """The reports of a job, newest last; the last ``kept`` of them, in this process only."""

    def __init__(self, kept: int = 10_000) -> None:
        self.heard: deque[EpochReport] = deque(maxlen=kept)

    def __call__(self, report: EpochReport) -> None:
        """Take one report."""
        self.heard.append(report)

    def steps(self) -> list[StepReport]:
        """The steps whose installs are committed, in order: a step takes the epoch that exports and the one after it."""
        heard = list(self.heard)
        return [
            StepReport(
                step=sent.step,
                plan=sent.plan,
                epoch=sent.epoch,
                bins_moved=sent.bins_moved,
                bytes_moved=sent.bytes_moved,
                duration_ms=installed.ended_at_ms - sent.ended_at_ms + sent.duration_ms,
            )
            for sent, installed in pairwise(heard)
            if sent.bins_moved and installed.epoch == sent.epoch + 1
        ]

    def as_json_lines(self) -> str:
        """All kept reports, one JSON object a line."""
        return "\n".join(json.dumps(asdict(report)) for report in self.heard)
