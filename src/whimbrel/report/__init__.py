"""Results to pictures and pages. Everything drawn is SVG text: no plotting library, no network, one file to mail."""

from whimbrel.report.bars import draw_bars
from whimbrel.report.bench_page import bench_page, flat_record, latency_rows, pictures
from whimbrel.report.comparison import Lane, draw_comparison, read_lanes
from whimbrel.report.latency import LatencyPanel, draw_latency
from whimbrel.report.measured import compacted, page_of_measurements, pictures_of_measurements
from whimbrel.report.page import page_of, write_page
from whimbrel.report.records import records_table
from whimbrel.report.run import EpochTime, LiveRun, Ownership, Rescale

__all__ = [
    "EpochTime",
    "Lane",
    "LatencyPanel",
    "LiveRun",
    "Ownership",
    "Rescale",
    "bench_page",
    "compacted",
    "draw_bars",
    "draw_comparison",
    "draw_latency",
    "flat_record",
    "latency_rows",
    "page_of",
    "page_of_measurements",
    "pictures",
    "pictures_of_measurements",
    "read_lanes",
    "records_table",
    "write_page",
]
