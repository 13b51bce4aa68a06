"""Results to pictures and pages. Everything drawn is SVG text: no plotting library, no network, one file to mail."""

from whimbrel.report.comparison import Lane, draw_comparison, read_lanes
from whimbrel.report.page import page_of, write_page
from whimbrel.report.run import EpochTime, LiveRun, Ownership, Rescale

__all__ = [
    "EpochTime",
    "Lane",
    "LiveRun",
    "Ownership",
    "Rescale",
    "draw_comparison",
    "page_of",
    "read_lanes",
    "write_page",
]
