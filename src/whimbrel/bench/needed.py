"""What a measurement needs beside Whimbrel is asked for before anything is measured, not when it is first used."""

from __future__ import annotations

from importlib.util import find_spec

from whimbrel.model.errors import BadInput

PACKAGES = {"duckdb": "duckdb", "hdrh": "hdrhistogram"}
"""From a module to the package that has it; all come with ``whimbrel[bench]``."""


def need(*modules: str) -> None:
    """Raises BadInput where one of these modules of PACKAGES is not installed.

    >>> need("duckdb", "hdrh")
    """
    missing = [PACKAGES[module] for module in modules if find_spec(module) is None]
    if missing:
        raise BadInput(f"this needs {' and '.join(missing)}: install whimbrel[bench]")
