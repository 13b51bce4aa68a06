"""How an experiment leaves its results: rows as Parquet, a picture as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whimbrel.model import BadInput


def save_rows(rows: Sequence[dict[str, Any]], out: Path, name: str) -> str:
    """Writes ``name.parquet`` into ``out`` and returns its path."""
    from pyarrow import parquet

    from whimbrel.report import records_table

    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.parquet"
    parquet.write_table(records_table(rows), path)
    return str(path)


def save_picture(figure: Any, out: Path, name: str) -> str:
    """Writes ``name.svg`` into ``out``, the same bytes for the same figure, and returns its path."""
    pyplot = plotting()
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return str(path)


def plotting() -> Any:
    """``matplotlib.pyplot`` without a screen. BadInput where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise BadInput("experiments draw with matplotlib: install whimbrel[viz]") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "whimbrel"
    from matplotlib import pyplot

    return pyplot
