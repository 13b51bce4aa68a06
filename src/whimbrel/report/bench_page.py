"""One bench as one HTML file: what was measured, the pictures, every record, the machine. No network, no second file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from whimbrel.report.bars import draw_bars
from whimbrel.report.latency import LatencyPanel, draw_latency
from whimbrel.report.page import STYLE, table

PHASES = ("before", "during", "after")
_LONG_NAMES = {
    "rows_per_second": "rows/s",
    "silence_ms": "longest silence, ms",
    "times_native": "times native",
    "of_identity": "of identity",
    "migration_s": "migration, s",
    "times_steady": "times steady",
    "state_bytes": "state, bytes",
    "bytes": "moved, bytes",
}
_PANEL_NAMES = {"spark-offline-repartition": "Spark, offline"}
"""A panel's heading stands beside its verdict: long names have a short form there."""


def bench_page(answer: Mapping[str, Any], machine: str) -> str:
    """The page of one bench's answer, as HTML text."""
    records = list(answer.get("results") or answer.get("cases") or [])
    title = f"whimbrel bench {answer.get('bench', '')}".strip()
    parts = [f"<h1>{escape(title)}</h1>", _verdict(records), f"<p>One run on one machine: {escape(machine)}</p>"]
    parts += [drawing for drawing in pictures(answer) if drawing]
    parts += ["<h2>Records</h2>", _table_of(records)]
    if answer.get("settings"):
        rows = [[name, str(value)] for name, value in answer["settings"].items()]
        parts += ["<h2>Sizes</h2>", table(["size", "value"], rows)]
    style = STYLE + "\nbody { max-width: 76rem; } table { font-size: 14px; display: block; overflow-x: auto; }\n"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def pictures(answer: Mapping[str, Any]) -> list[str]:
    """The drawings that the records allow: latency over time, throughput, epoch lengths; each as SVG text."""
    records = list(answer.get("results") or [])
    drawings = []
    if any(record.get("timeline") for record in records):
        drawings.append(draw_latency("Latency from due time to sink", latency_rows(records)))
        records = []
    rates = _grouped(records, lambda record: float(record.get("rows_per_second") or 0))
    if any(values for _, values in rates):
        drawings.append(draw_bars("Throughput", rates, "rows per second"))
    moved = [record for record in records if record.get("epoch_ms", {}).get("during", {}).get("max")]
    if moved:
        drawings.append(draw_bars("Longest epoch of each phase", [_phases(record) for record in moved], "ms"))
    return drawings


def latency_rows(records: Iterable[Mapping[str, Any]]) -> list[tuple[str, list[LatencyPanel]]]:
    """A row of panels per query, in the order of the records."""
    rows: dict[str, list[LatencyPanel]] = {}
    for record in records:
        latency = record["latency_ms"]
        keys = ("at_ms", "p50", "p99", "max")
        points = tuple((point["at_ms"] / 1000, *(point[key] for key in keys[1:])) for point in record["timeline"])
        panel = LatencyPanel(
            name=_PANEL_NAMES.get(name := str(record.get("pacing") or record["system"]), name),
            points=points,
            moved=record["moved_at_ms"] / 1000,
            settled=record["settled_at_ms"] / 1000,
            steady_max_ms=latency["before"]["max"],
            during_max_ms=latency["during"]["max"],
        )
        rows.setdefault(str(record.get("query", "")), []).append(panel)
    return list(rows.items())


def flat_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without nested parts: ``epoch_ms`` becomes columns, lists are left out.

    >>> flat_record({"system": "whimbrel", "epoch_ms": {"before": {"p50": 3}}, "timeline": []})
    {'system': 'whimbrel', 'epoch_ms_before_p50': 3}
    """
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{inner}": deep for inner, deep in flat_record(value).items()}
        elif not isinstance(value, (list, tuple)):
            found[name] = value
    return found


def _grouped(records: Sequence[Mapping[str, Any]], value: Any) -> list[tuple[str, dict[str, float]]]:
    groups: dict[str, dict[str, float]] = {}
    for record in records:
        name = str(record.get("query") or record.get("operator") or record.get("bins") or record.get("pacing") or "")
        if value(record):
            groups.setdefault(name, {})[str(record.get("system", ""))] = value(record)
    return list(groups.items())


def _phases(record: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    name = str(record.get("pacing") or record.get("operator") or record["system"])
    return name, {phase: record["epoch_ms"][phase]["max"] for phase in PHASES if record["epoch_ms"][phase]["max"]}


def _verdict(records: Sequence[Mapping[str, Any]]) -> str:
    checked = [record["correct"] for record in records if record.get("correct") is not None]
    if not checked:
        return ""
    if all(checked):
        return f'<p class="good"><strong>All {len(checked)} checked answers are right.</strong></p>'
    return f'<p class="bad"><strong>{checked.count(False)} of {len(checked)} answers are wrong.</strong></p>'


def _table_of(records: Sequence[Mapping[str, Any]]) -> str:
    rows = [flat_record(record) for record in records]
    columns = [
        name for name in dict.fromkeys(name for row in rows for name in row) if any(row.get(name) for row in rows)
    ]
    heads = [_LONG_NAMES.get(name, name.replace("_", " ")) for name in columns]
    return table(heads, [[_cell(row.get(name)) for name in columns] for row in rows])


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
