"""The machine that a measurement was made on: what a reader must know to compare it with another."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Cores, processor, memory and versions; no name, no date."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gib": _memory_gib(),
        "system": platform.system(),
        "python": platform.python_version(),
        "pyspark": _version("pyspark"),
        "pyarrow": _version("pyarrow"),
    }


def in_words(facts: dict[str, Any]) -> str:
    """One sentence for a page.

    >>> in_words({"cores": 2, "processor": "x86_64", "memory_gib": 8, "python": "3.12", "pyspark": "4.3.0"})
    '2 cores (x86_64), 8 GiB of memory, Python 3.12, PySpark 4.3.0.'
    """
    memory = f", {facts['memory_gib']} GiB of memory" if facts.get("memory_gib") else ""
    return (
        f"{facts['cores']} cores ({facts['processor']}){memory}, Python {facts['python']}, PySpark {facts['pyspark']}."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _memory_gib() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (ValueError, OSError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
