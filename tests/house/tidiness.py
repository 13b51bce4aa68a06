"""The house style as small programs: each rule returns one line for every place that breaks it."""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.house.source import Module, functions

LINES_PER_MODULE = 400
LINES_PER_FUNCTION = 70
MEDIAN_LINES_PER_FUNCTION = 10

EMPTY_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "manager2", "stuff"}
"""File and folder names that say nothing."""

BANNED_CALLS = {"eval", "exec", "pickle.loads", "pickle.load", "cloudpickle.loads", "cloudpickle.load", "marshal.loads"}
"""Calls that would run or trust foreign bytes."""

BANNED_ATTRIBUTES = {"_jvm", "_jdf", "_jsparkSession"}
"""Doors into Spark's Java side: closed, so that everything also runs on Spark Connect."""

OPEN_ENDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|NotImplemented" r"Error)\b")

UNITLESS = {"time", "duration", "timeout", "delay", "latency", "interval", "period", "elapsed", "deadline", "memory"}
"""Last words of a number's name that leave its unit open: write ``timeout_seconds``, ``delay_ms``, ``memory_bytes``."""

NAMED_BY_OTHERS = {"date_time", "dateTime", "event_time"}
"""Names that a public schema or a paper fixes."""

FOREIGN_PLACES = re.compile(
    "|".join(
        (
            "/wo" "rk/", "/ro" "ot/", "/tmp/" "wb", r"/home/(?!u" r"ser\b)\w+", "/opt/wh" "eels", "/opt/py" "pi",
            r"py" r"pi\.org", "python" "hosted", "repo1" r"\.maven", "registry" r"\.npmjs",
        )
    )
)  # fmt: skip
"""Paths of somebody's machine and hosts of package registries: neither belongs into a repository."""


def length_faults(modules: Iterable[Module]) -> list[str]:
    """Modules and functions that cannot be seen at once."""
    faults = []
    for module in modules:
        lines = len(module.text.splitlines())
        if lines > LINES_PER_MODULE:
            faults.append(f"{module.place}: {lines} lines, at most {LINES_PER_MODULE}: give each concept its own file")
        for function in functions(module):
            if (size := lines_of(function)) > LINES_PER_FUNCTION:
                faults.append(f"{module.place}:{function.lineno}: {function.name} has {size} lines")
    return faults


def median_function_lines(modules: Iterable[Module]) -> float:
    """The middle length of all functions, in lines."""
    return statistics.median(lines_of(function) for module in modules for function in functions(module))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from ``def`` to the end, without the docstring: teaching is not length."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is None or len(function.body) == 1:
        return total
    return total - ((first.end_lineno or first.lineno) - first.lineno + 1)


def name_faults(modules: Iterable[Module]) -> list[str]:
    """Files and folders with a name that says nothing."""
    return [
        f"{module.place}: '{word}' says nothing: name the concept that lives there"
        for module in modules
        for word in [*module.path.relative_to(module.root).parts[:-1], module.path.stem]
        if word.strip("_").lower() in EMPTY_NAMES
    ]


def call_faults(modules: Iterable[Module]) -> list[str]:
    """Calls and attributes that the house bans."""
    return [
        f"{module.place}:{line}: {what} is not for this house"
        for module in modules
        for line, what in _banned_in(module)
    ]


def _banned_in(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in BANNED_CALLS:
            yield node.lineno, ast.unparse(node.func)
        if isinstance(node, ast.Attribute) and node.attr in BANNED_ATTRIBUTES:
            yield node.lineno, node.attr


def initializer_faults(modules: Iterable[Module]) -> list[str]:
    """Packages below the first one whose ``__init__`` holds more than a docstring and re-exports."""
    allowed = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign)
    return [
        f"{module.place}:{node.lineno}: an __init__ only re-exports"
        for module in modules
        if module.path.name == "__init__.py" and module.room
        for node in module.tree.body
        if not isinstance(node, allowed) and not _resolves_lazily(node)
    ]


def _resolves_lazily(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in {"__getattr__", "__dir__"}
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def unit_faults(modules: Iterable[Module]) -> list[str]:
    """Numbers whose name leaves the unit open."""
    return [
        f"{module.place}:{line}: {name} is a number without a unit: end it in _seconds, _ms, _bytes, _epochs, ..."
        for module in modules
        for line, name, kind in _annotated_names(module.tree)
        if _is_number(kind) and name.lower().split("_")[-1] in UNITLESS and name not in NAMED_BY_OTHERS
    ]


def _annotated_names(tree: ast.AST) -> Iterator[tuple[int, str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.lineno, node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id, node.annotation


def _is_number(annotation: ast.expr) -> bool:
    words = set(re.findall(r"\w+", ast.unparse(annotation)))
    return bool(words & {"int", "float", "Number"}) and not words & {"Callable", "dict", "Mapping", "str", "timedelta"}


def text_faults(files: Iterable[Path], root: Path, pattern: re.Pattern[str]) -> list[str]:
    """Places in text files where a pattern stands."""
    return [
        f"{path.relative_to(root)}:{number}: {found.group()}"
        for path in files
        for number, line in enumerate(_lines_of(path), start=1)
        if (found := pattern.search(line))
    ]


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []
