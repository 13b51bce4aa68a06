"""The epochs of a run as bars over time, with a band behind every rescale; and who owned which bin, as strips."""

from __future__ import annotations

from itertools import groupby

from whimbrel.report.run import LiveRun, Ownership
from whimbrel.report.svg import Drawing, Scale, axis_below, axis_left

WIDTH = 900
LEFT, RIGHT = 70, 880
STRIP_HEIGHT = 34

SLOT_COLOURS = ("#3d7ea6", "#e07b39", "#3d8f7a", "#b0549b", "#c9a227", "#6a6fb5", "#a3524a", "#5b8c3a")
"""Told apart by most eyes; reused in turn where a job has more slots."""


def draw_timeline(run: LiveRun) -> str:
    """One bar per epoch: as wide and as high as the epoch was long."""
    drawing = Drawing(WIDTH, 300, "Duration of every epoch over time")
    end = max((epoch.end_seconds for epoch in run.epochs), default=1.0)
    x = Scale(0, end, LEFT, RIGHT)
    y = Scale(0, max((epoch.duration_ms for epoch in run.epochs), default=1.0) * 1.15, 260, 30)
    _bands(drawing, run, x)
    axis_left(drawing, y, LEFT, RIGHT, "ms")
    for epoch in run.epochs:
        note = f"epoch {epoch.number}: {epoch.duration_ms:.0f} ms, {epoch.rows:,} rows"
        width = x(epoch.end_seconds) - x(epoch.start_seconds) - 1
        kind, top = run.phase_of(epoch.number), y(epoch.duration_ms)
        drawing.rectangle(kind, x(epoch.start_seconds), top, width, y(0) - top, note)
    axis_below(drawing, x, 260, "s")
    for position, kind in enumerate(dict.fromkeys(run.phase_of(epoch.number) for epoch in run.epochs)):
        drawing.text(LEFT + 60 * position, 296, kind, kind)
    return drawing.to_text()


def _bands(drawing: Drawing, run: LiveRun, x: Scale) -> None:
    for rescale in run.rescales:
        inside = [e for e in run.epochs if rescale.first_epoch <= e.number <= rescale.last_epoch]
        if inside:
            left, right = x(inside[0].start_seconds), x(inside[-1].end_seconds)
            drawing.rectangle("band", left, 24, right - left, 236)
            drawing.text((left + right) / 2, 18, rescale.label, "title", "middle")


def draw_owners(moments: tuple[Ownership, ...]) -> str:
    """One strip per moment: the bins from left to right, each in the colour of its slot."""
    drawing = Drawing(WIDTH, STRIP_HEIGHT * len(moments) + 30, "Which slot owns which bin")
    for row, moment in enumerate(moments):
        top = 10 + row * STRIP_HEIGHT
        x = Scale(0, len(moment.owner) or 1, LEFT + 40, RIGHT)
        drawing.text(LEFT + 30, top + 17, moment.label, "faint", "right")
        for slot, first, last in runs_of(moment.owner):
            note = f"bins {first} to {last - 1}: slot {slot}"
            colour = SLOT_COLOURS[slot % len(SLOT_COLOURS)]
            drawing.patch(colour, x(first), top, x(last) - x(first), STRIP_HEIGHT - 8, note)
            if x(last) - x(first) > 50:
                drawing.text((x(first) + x(last)) / 2, top + 17, f"slot {slot}", "on-colour", "middle")
    drawing.text(
        RIGHT, drawing.height - 4, f"bins 0 to {len(moments[0].owner) - 1}" if moments else "", "faint", "right"
    )
    return drawing.to_text()


def runs_of(owner: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """The maximal runs of one owner as (slot, first bin, one past the last).

    >>> runs_of((0, 0, 1, 0))
    [(0, 0, 2), (1, 2, 3), (0, 3, 4)]
    """
    grouped = ((slot, list(bins)) for slot, bins in groupby(range(len(owner)), key=owner.__getitem__))
    return [(slot, bins[0], bins[-1] + 1) for slot, bins in grouped]
