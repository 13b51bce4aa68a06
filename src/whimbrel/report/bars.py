"""Figures of several systems as horizontal bars, one group per case, on one scale that starts at zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whimbrel.report.svg import Drawing, Scale, axis_below
from whimbrel.report.timeline import SLOT_COLOURS

WIDTH, LEFT, RIGHT, TOP = 900, 90, 790, 56
BAR, GROUP_GAP = 15, 12


def draw_bars(title: str, groups: Sequence[tuple[str, Mapping[str, float]]], unit: str) -> str:
    """``groups`` are (name, value per series); a series keeps its colour in all of them.

    A group may lack a series; every bar has its value written behind it.
    """
    series = list(dict.fromkeys(name for _, values in groups for name in values))
    colours = {name: SLOT_COLOURS[index % len(SLOT_COLOURS)] for index, name in enumerate(series)}
    height = TOP + sum(BAR * len(values) + GROUP_GAP for _, values in groups) + 34
    drawing = Drawing(WIDTH, height, title)
    drawing.text(LEFT, 20, title, "title")
    _legend(drawing, colours)
    x = Scale(0, max((value for _, values in groups for value in values.values()), default=1.0) or 1.0, LEFT, RIGHT)
    top = float(TOP)
    for name, values in groups:
        drawing.text(LEFT - 8, top + BAR * len(values) / 2 + 5, name, "title", "right")
        for system, value in values.items():
            drawing.patch(
                colours[system], LEFT, top, x(value) - LEFT, BAR - 2, f"{name}, {system}: {value:,.0f} {unit}"
            )
            drawing.text(x(value) + 5, top + BAR - 4, f"{value:,.0f}", "faint")
            top += BAR
        top += GROUP_GAP
    axis_below(drawing, x, top, "", 5)
    drawing.text(RIGHT, top + 32, unit, "faint", "right")
    return drawing.to_text()


def _legend(drawing: Drawing, colours: Mapping[str, str]) -> None:
    x = float(LEFT)
    for name, colour in colours.items():
        drawing.patch(colour, x, 32, 14, 10)
        drawing.text(x + 19, 41, name, "faint")
        x += 36 + 7 * len(name)
