"""Latency over time around a change of parallelism: one panel per way to do it, side by side on one height scale.

The scale is that of the ways that stay near the steady state: what rises above it is cut off at the top, and the panel
says in words how high it went. A lane that is off the chart looks like one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whimbrel.report.svg import Drawing, Scale, axis_below, axis_left

LEFT, TOP, GAP, HEIGHT = 62, 46, 14, 120
PANEL_WIDTH = 270


@dataclass(frozen=True, slots=True)
class LatencyPanel:
    """``points`` are (seconds, p50, p99, max) in ms; the change lasts from ``moved`` to ``settled`` seconds."""

    name: str
    points: tuple[tuple[float, float, float, float], ...]
    moved: float
    settled: float
    steady_max_ms: float
    during_max_ms: float
    words: str = ""


def draw_latency(title: str, rows: Sequence[tuple[str, Sequence[LatencyPanel]]]) -> str:
    """A row of panels per query or size; each row has its own scale in seconds."""
    columns = max(len(panels) for _, panels in rows)
    row_height = HEIGHT + 70
    width = LEFT + columns * (PANEL_WIDTH + GAP)
    drawing = Drawing(width, TOP + 22 + len(rows) * row_height, title)
    drawing.text(LEFT, 20, title, "title")
    _legend(drawing, LEFT)
    for index, (name, panels) in enumerate(rows):
        _draw_row(drawing, name, panels, TOP + 22 + index * row_height)
    return drawing.to_text()


def _legend(drawing: Drawing, left: float) -> None:
    words = (
        ("quantile-max", "highest"),
        ("quantile-99", "99th percentile"),
        ("quantile-50", "median"),
        ("band", "migration"),
    )
    x = left
    for kind, name in words:
        drawing.rectangle(kind, x, 32, 14, 10)
        drawing.text(x + 19, 41, name, "faint")
        x += 34 + 7 * len(name)


def _draw_row(drawing: Drawing, name: str, panels: Sequence[LatencyPanel], top: float) -> None:
    ceiling = _ceiling_ms(panels) / 1000
    y = Scale(0, ceiling, top + 24 + HEIGHT, top + 24)
    for column, panel in enumerate(panels):
        left = LEFT + column * (PANEL_WIDTH + GAP)
        if column == 0:
            axis_left(drawing, y, left, left + PANEL_WIDTH, "s")
        else:
            for value in y.ticks(4):
                drawing.line("grid", left, y(value), left + PANEL_WIDTH, y(value))
        end = max((point[0] for point in panel.points), default=1.0)
        x = Scale(0, end, left, left + PANEL_WIDTH)
        _draw_panel(drawing, panel, x, y)
        axis_below(drawing, x, y.start, "s", 5)
        heading = f"{name} · {panel.name}" if name else panel.name
        drawing.text(left, top + 14, heading, "title")
        drawing.text(left + PANEL_WIDTH, top + 14, _verdict(panel), "faint", "right")
        if panel.words:
            drawing.text(left + 6, top + 40, panel.words, "faint")


def _draw_panel(drawing: Drawing, panel: LatencyPanel, x: Scale, y: Scale) -> None:
    drawing.rectangle("band", x(panel.moved), y.end, max(2.0, x(panel.settled) - x(panel.moved)), y.start - y.end)
    step = x(0.25) - x(0)
    for at, p50, p99, most in panel.points:
        for kind, value in (("quantile-max", most), ("quantile-99", p99), ("quantile-50", p50)):
            top = max(y.end, y(value / 1000))
            drawing.rectangle(kind, x(at), top, step, y.start - top)
    steady = y(panel.steady_max_ms / 1000)
    if steady >= y.end:
        drawing.line("steady", x.start, steady, x.end, steady)
    if panel.during_max_ms / 1000 > y.high:
        at = min(max(x(panel.moved) + 4, x.start), x.end - 120)
        drawing.text(at, y.end + 14, f"▲ up to {panel.during_max_ms / 1000:.1f} s", "silence")


def _ceiling_ms(panels: Sequence[LatencyPanel]) -> float:
    """Twice the steady state, or as high as any panel that stays under four times of it."""
    steady = max(panel.steady_max_ms for panel in panels)
    near = [panel.during_max_ms for panel in panels if panel.during_max_ms <= 4 * steady]
    return 1.1 * max([1.0, steady * 1.6, *near])


def _verdict(panel: LatencyPanel) -> str:
    highest = f"{panel.during_max_ms / 1000:.2f} s"
    return f"{highest}, {panel.during_max_ms / panel.steady_max_ms:.1f} × steady" if panel.steady_max_ms else highest
