"""Open-loop latency: from the time an event was due to the time its epoch was committed, for every event.

Nothing is carried through the query: an epoch's source offsets say which events it took, the schedule says when
they were due, and Spark says when the epoch ended. A system that falls behind is charged for all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whimbrel.model.errors import BadInput

TIMELINE_MS = 250
_HIGHEST_MS = 3_600_000
Instants = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Committed:
    """An epoch: the events before its end, and when it was committed, in milliseconds on Spark's clock."""

    until: int
    at_ms: float


def latencies_ms(epochs: Sequence[Committed], due_ms: Callable[[Instants], Instants], first: int = 0) -> Instants:
    """The latency of every event from ``first`` on that an epoch has taken; 0 at least."""
    ends = np.array([epoch.until for epoch in epochs], np.int64)
    if np.any(np.diff(ends) < 0):
        raise BadInput("the epochs are out of order: give them as they were committed")
    numbers = np.arange(first, ends[-1] if len(ends) else first)
    committed = np.array([epoch.at_ms for epoch in epochs])[np.searchsorted(ends, numbers, side="right")]
    return np.maximum(np.rint(committed - due_ms(numbers)), 0).astype(np.int64)


def histogram(latencies: Instants) -> Mapping[str, float]:
    """Percentiles from a histogram with logarithmic bins, three digits exact."""
    from hdrh.histogram import HdrHistogram

    found = HdrHistogram(1, _HIGHEST_MS, 3)
    values, counts = np.unique(np.clip(latencies, 1, _HIGHEST_MS), return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        found.record_value(value, count)
    ranks = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9, "p99.99": 99.99}
    named = {name: float(found.get_value_at_percentile(rank)) for name, rank in ranks.items()}
    return {**named, "max": float(found.get_max_value()), "events": float(found.get_total_count())}


def timeline(
    latencies: Instants, due_ms: Instants, step_ms: int = TIMELINE_MS, begun_ms: float | None = None
) -> list[dict[str, float]]:
    """p50, p99 and max of the events that were due in each quarter of a second, from ``begun_ms`` (the first) on."""
    if not len(latencies):
        return []
    begun = int(due_ms[0] if begun_ms is None else begun_ms)
    bucket = (due_ms - begun) // step_ms
    edges = np.flatnonzero(np.diff(bucket, prepend=bucket[0] - 1))
    points = []
    for low, high in zip(edges, [*edges[1:], len(bucket)], strict=True):
        p50, p99, most = np.percentile(latencies[low:high], [50, 99, 100])
        points.append({"at_ms": float(bucket[low] * step_ms), "p50": p50, "p99": p99, "max": most})
    return points


def committed_epochs(progress: Sequence[Mapping[str, Any]]) -> list[Committed]:
    """The epochs among Spark's progress reports that took events from the source ``nexmark``."""
    import json

    found: list[Committed] = []
    for report in progress:
        offsets = [_as_dict(source["endOffset"], json.loads) for source in report.get("sources", [])]
        ends = [int(offset["events"]) for offset in offsets if offset and "events" in offset]
        length = report.get("durationMs", {}).get("triggerExecution")
        if ends and length is not None and (not found or min(ends) > found[-1].until):
            found.append(Committed(min(ends), _instant_ms(report["timestamp"]) + float(length)))
    return found


def started_ms(progress: Sequence[Mapping[str, Any]], choose: Callable[[Sequence[float]], float] = max) -> float:
    """When the source started; where there are several, the last of them, as it decides what an epoch has taken."""
    import json

    for report in progress:
        offsets = [_as_dict(source["endOffset"], json.loads) for source in report["sources"]]
        found = [float(offset["started_us"]) / 1000 for offset in offsets if offset and "started_us" in offset]
        if found:
            return choose(found)
    raise BadInput("the query has no open-loop source")


def _as_dict(offset: Any, parse: Callable[[str], Any]) -> Any:
    return parse(offset) if isinstance(offset, str) else offset


def _instant_ms(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000.0
