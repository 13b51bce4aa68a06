"""Two ways to change the parallelism of a running query, side by side: when each of them had an epoch, and its silence.

Both lanes share one time axis and one height scale, so a gap in one is a gap against the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from whimbrel.model.errors import BadInput
from whimbrel.report.run import EpochTime
from whimbrel.report.svg import Drawing, Scale, axis_below, axis_left

WIDTH, LANE_HEIGHT, TOP = 900, 150, 30
LEFT, RIGHT = 70, 880


@dataclass(frozen=True, slots=True)
class Lane:
    """One system's run. The change of parallelism lasts from ``change_start_seconds`` to ``change_end_seconds``."""

    name: str
    epochs: tuple[EpochTime, ...]
    change_start_seconds: float
    change_end_seconds: float

    @property
    def silence(self) -> tuple[float, float]:
        """The longest stretch without a committed epoch, as (start, end) in seconds."""
        ends = [epoch.end_seconds for epoch in self.epochs]
        return max(pairwise(ends), key=lambda pair: pair[1] - pair[0], default=(0.0, 0.0))

    def changes_during(self, epoch: EpochTime) -> bool:
        """Whether an epoch and the change overlap in time."""
        return epoch.end_seconds > self.change_start_seconds and epoch.start_seconds < self.change_end_seconds


def read_lanes(results: dict[str, Any]) -> tuple[str, list[Lane]]:
    """Title and lanes of a results file. Raises BadInput that names the lane and the field that is missing."""
    lanes = []
    for index, lane in enumerate(results.get("lanes", [])):
        try:
            epochs = tuple(EpochTime(**epoch) for epoch in lane["epochs"])
            lanes.append(Lane(lane["name"], epochs, lane["change_start_seconds"], lane["change_end_seconds"]))
        except (KeyError, TypeError) as error:
            raise BadInput(f"lane {index} of the results does not fit ({error}): measure it again") from None
    if not lanes:
        raise BadInput("the results hold no lanes: give one per system, each with name and epochs")
    return str(results.get("title", "")), lanes


def draw_comparison(title: str, lanes: Sequence[Lane]) -> str:
    """The lanes one above the other, each with its longest silence written into it."""
    drawing = Drawing(WIDTH, TOP + LANE_HEIGHT * len(lanes) + 30, title)
    drawing.text(LEFT, 18, title, "title")
    x = Scale(0, max(lane.epochs[-1].end_seconds for lane in lanes), LEFT, RIGHT)
    highest = max(epoch.duration_ms for lane in lanes for epoch in lane.epochs)
    for index, lane in enumerate(lanes):
        top = TOP + index * LANE_HEIGHT
        _draw_lane(drawing, lane, x, Scale(0, highest / 1000 * 1.1, top + LANE_HEIGHT - 12, top + 26))
    axis_below(drawing, x, TOP + LANE_HEIGHT * len(lanes) + 4, "s")
    return drawing.to_text()


def _draw_lane(drawing: Drawing, lane: Lane, x: Scale, y: Scale) -> None:
    axis_left(drawing, y, LEFT, RIGHT, "s")
    drawing.text(LEFT + 4, y.end - 6, lane.name, "title")
    start, end = lane.silence
    drawing.rectangle("gap-area", x(start), y.end, x(end) - x(start), y.start - y.end)
    for epoch in lane.epochs:
        kind = "during" if lane.changes_during(epoch) else "before"
        left, width = x(epoch.start_seconds), x(epoch.end_seconds) - x(epoch.start_seconds) - 1
        top = y(epoch.duration_ms / 1000)
        drawing.rectangle(kind, left, top, width, y.start - top, f"epoch {epoch.number}: {epoch.duration_ms:.0f} ms")
    align = "left" if x(end) < RIGHT - 260 else "right"
    drawing.text(x(end) + (6 if align == "left" else -6), y.end + 12, _silence_words(lane), "silence", align)


def _silence_words(lane: Lane) -> str:
    start, end = lane.silence
    return f"longest silence {end - start:.1f} s"
