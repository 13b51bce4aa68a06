"""One run as one HTML file: pictures, tables, verdict. It needs no network and no second file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from whimbrel.report.run import LiveRun
from whimbrel.report.timeline import draw_owners, draw_timeline

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 100%; height: auto; } svg .on-colour { fill: #ffffff; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: 0.3rem 0.9rem; border-bottom: 1px solid #8884; }
td { font-variant-numeric: tabular-nums; text-align: right; } td:first-child, th:first-child { text-align: left; }
.good { color: #2d8a6d; } .bad { color: #c0392b; } h2 { margin-top: 2.2rem; }
"""

PHASE_COLUMNS = ("phase", "epochs", "p50", "p99", "max")
RESCALE_COLUMNS = ("rescale", "in epochs", "bins moved", "state moved", "lower bound", "hash % N")


def page_of(run: LiveRun) -> str:
    """The whole page as HTML text."""
    ok = bool(run.audit.get("ok"))
    verdict = "Every row is in the state exactly once" if ok else "The audit found a fault"
    parts = [
        f"<h1>{escape(run.title)}</h1>",
        f'<p class="{"good" if ok else "bad"}"><strong>{verdict}.</strong> {escape(_summary(run))}</p>',
        "<h2>Epochs over time</h2>",
        "<p>A bar is as wide and as high as its epoch was long. The bands are the moves.</p>",
        draw_timeline(run),
        "<h2>Before, during, after</h2>",
        table(PHASE_COLUMNS, phase_rows(run)),
        "<h2>What moved</h2>",
        table(RESCALE_COLUMNS, rescale_rows(run)),
        draw_owners(run.owners),
        "<h2>Audit</h2>",
        table(["check", "result"], [[name.replace("_", " "), _result(value)] for name, value in run.audit.items()]),
    ]
    head = f'<meta charset="utf-8"><title>{escape(run.title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def write_page(run: LiveRun, path: Path) -> Path:
    """Writes the page, making its folder; answers the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_of(run), encoding="utf-8")
    return path


def phase_rows(run: LiveRun) -> list[list[str]]:
    """One row per phase that has epochs: its name, how many, p50, p99 and max."""
    counts = [run.phase_of(epoch.number) for epoch in run.epochs]
    return [
        [phase, str(counts.count(phase)), *(f"{times[name]:,.0f} ms" for name in ("p50", "p99", "max"))]
        for phase, times in run.epoch_ms().items()
    ]


def rescale_rows(run: LiveRun) -> list[list[str]]:
    """One row per rescale, as RESCALE_COLUMNS names its cells."""
    return [
        [
            rescale.label,
            f"{rescale.first_epoch} to {rescale.last_epoch}",
            str(rescale.bins_moved),
            readable_bytes(rescale.bytes_moved),
            readable_bytes(rescale.bytes_at_least),
            readable_bytes(rescale.bytes_by_hash),
        ]
        for rescale in run.rescales
    ]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of plain texts."""
    lines = ["<table><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def readable_bytes(count: float) -> str:
    """A size as people read it.

    >>> readable_bytes(1536)
    '1.5 KiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1024
    return ""


def _result(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _summary(run: LiveRun) -> str:
    rows = sum(epoch.rows for epoch in run.epochs)
    untimed = run.audit.get("rows", rows) - rows
    beside = f" (and {untimed:,} more that are audited but not timed: Spark's warm-up)" if untimed > 0 else ""
    return (
        f"{len(run.epochs)} epochs read {rows:,} rows{beside}; {len(run.rescales)} rescales; the longest time without "
        f"a committed epoch was {run.silence_ms / 1000:.1f} s."
    )
