"""Lines of code of each query in its native and its migratable form, as Megaphone's Table 1 counts them.

Counted are the lines that hold code, in the query's own file and in the files of its folder that it imports;
blank lines, comments, docstrings and imports are not. Shared files count fully for every query that uses them.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

FORMS = ("native", "queries")
_ROOT = Path(__file__).parent


def table() -> list[dict[str, int | str]]:
    """One row per query: its lines in both forms, and how many of the migratable ones other queries use too."""
    names = sorted((path.stem for path in (_ROOT / "queries").glob("q[0-9]*.py")), key=lambda name: int(name[1:]))
    users = Counter(file for name in names for file in files_of("queries", name))
    return [
        {
            "query": name,
            "native": lines_of("native", name),
            "migratable": lines_of("queries", name),
            "shared": sum(_lines("queries", file) for file in files_of("queries", name) if users[file] > 1),
        }
        for name in names
    ]


def lines_of(form: str, query: str) -> int:
    """Lines of one query in one form, with the files of its folder that it needs."""
    return sum(_lines(form, file) for file in files_of(form, query))


def files_of(form: str, query: str) -> set[str]:
    """The query's own file and the files of its folder that it imports, directly or not."""
    seen: set[str] = set()
    waiting = [query]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _siblings(_ROOT / form / f"{name}.py", f"whimbrel.nexmark.{form}.")
    return seen


def _lines(form: str, file: str) -> int:
    return code_lines((_ROOT / form / f"{file}.py").read_text(encoding="utf-8"))


def code_lines(source: str) -> int:
    """How many lines of a module hold code other than docstrings and imports.

    >>> code_lines('\"\"\"Says.\"\"\"\\nimport os\\n\\nx = (1,\\n     2)  # two\\n')
    2
    """
    tree = ast.parse(source)
    counted: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.expr | ast.arg) and not _is_text(node):
            counted.update({node.lineno} if _has_body(node) else _span(node))
    skipped = {line for node in ast.walk(tree) if _is_text(node) or _is_import(node) for line in _span(node)}
    blank = {number for number, line in enumerate(source.splitlines(), 1) if not line.strip()}
    return len(counted - skipped - blank)


def _span(node: ast.AST) -> range:
    first = getattr(node, "lineno", 0)
    return range(first, (getattr(node, "end_lineno", None) or first) + 1)


def _has_body(node: ast.AST) -> bool:
    return hasattr(node, "body")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _siblings(path: Path, package: str) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [module.removeprefix(package) for module in found if module.startswith(package)]
