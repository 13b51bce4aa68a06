"""A drawing as SVG text: shapes with a class each, so that one style sheet colours them for light and dark screens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

STYLE = """
svg { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; color-scheme: light dark;
  --ink: #1d2b33; --faint: #6b7b84; --grid: #d9e1e5; --before: #7fa8bd; --during: #e07b39; --after: #3d8f7a;
  --quantile-max: #c4d7e2; --quantile-99: #7fa8bd; --quantile-50: #2f6585; --band: #e07b3933; --silence: #c0392b; --ground: #ffffff; }
@media (prefers-color-scheme: dark) { svg { --ink: #e4ecef; --faint: #9aabb4; --grid: #32414a; --before: #86b3ca;
  --quantile-max: #2b4655; --quantile-99: #4d7f99; --quantile-50: #9fcbe2;
  --during: #f0955a; --after: #58b69d; --band: #f0955a44; --silence: #ff7b6b; --ground: #10181d; } }
.ground { fill: var(--ground); } text { fill: var(--ink); } .faint { fill: var(--faint); font-size: 11px; }
.title { font-weight: 600; font-size: 14px; } .grid { stroke: var(--grid); stroke-width: 1; }
.axis { stroke: var(--faint); stroke-width: 1; } .before { fill: var(--before); } .during { fill: var(--during); }
.after { fill: var(--after); } .band { fill: var(--band); } .silence { fill: var(--silence); font-weight: 600; }
.quantile-max { fill: var(--quantile-max); } .quantile-99 { fill: var(--quantile-99); }
.quantile-50 { fill: var(--quantile-50); } .steady { stroke: var(--faint); stroke-width: 1; stroke-dasharray: 4 3; }
.gap { stroke: var(--silence); stroke-width: 1.5; } .gap-area { fill: var(--silence); opacity: 0.12; }
"""

ANCHORS = {"left": "start", "middle": "middle", "right": "end"}


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values between ``low`` and ``high`` evenly onto positions between ``start`` and ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The position of a value."""
        span = self.high - self.low or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round values across the scale, near ``about`` of them.

        >>> Scale(0, 47, 0, 100).ticks()
        [0.0, 10.0, 20.0, 30.0, 40.0]
        """
        span = self.high - self.low or 1.0
        power = 10.0 ** math.floor(math.log10(span / about))
        step = min((power * factor for factor in (1, 2, 5, 10)), key=lambda width: abs(span / width - about))
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(index * step, 10) for index in range(first, last + 1)]


class Drawing:
    """Collects shapes from back to front. Positions are pixels, y grows downwards."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width = width
        self.height = height
        self._title = title
        self._shapes: list[str] = []

    def rectangle(self, kind: str, x: float, y: float, width: float, height: float, note: str = "") -> None:
        """A filled box; ``note`` appears when the pointer rests on it."""
        shape = f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}"'
        self._shapes.append(f"{shape}><title>{escape(note)}</title></rect>" if note else f"{shape}/>")

    def patch(self, colour: str, x: float, y: float, width: float, height: float, note: str = "") -> None:
        """A box in a colour of its own."""
        box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self._shapes.append(f'<rect fill="{colour}" {box}><title>{escape(note)}</title></rect>')

    def line(self, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """A straight line."""
        self._shapes.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def text(self, x: float, y: float, words: str, kind: str = "", align: str = "left") -> None:
        """Words whose ``align`` (left, middle, right) edge stands at x."""
        self._shapes.append(
            f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{ANCHORS[align]}">{escape(words)}</text>'
        )

    def to_text(self) -> str:
        """The drawing as an ``<svg>`` element that stands alone."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(self._title)}">'
        ground = f'<rect class="ground" width="{self.width}" height="{self.height}"/>'
        return "\n".join([head, f"<style>{STYLE}</style>", ground, *self._shapes, "</svg>"]) + "\n"


def axis_left(drawing: Drawing, y: Scale, left: float, right: float, unit: str) -> None:
    """Lines across the drawing with their values on the left."""
    for value in y.ticks(4):
        drawing.line("grid", left, y(value), right, y(value))
        drawing.text(left - 6, y(value) + 4, f"{value:g} {unit}", "faint", "right")


def axis_below(drawing: Drawing, x: Scale, top: float, unit: str, about: int = 8) -> None:
    """Values below the drawing, near ``about`` of them."""
    drawing.line("axis", x.start, top, x.end, top)
    for value in x.ticks(about):
        drawing.line("axis", x(value), top, x(value), top + 4)
        words = f"{value:g} {unit}" if abs(value) < 10_000 else f"{value:,.0f} {unit}"
        drawing.text(x(value), top + 17, words.strip(), "faint", "middle")
