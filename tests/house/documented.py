"""Which public names have no docstring. Public: reachable without an underscore in any part of the name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.house.source import Module

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

DOCUMENTED_ELSEWHERE = {"override", "overload", "setter"}
"""Decorators of methods whose promise stands at the method that they belong to."""

SPARK_CALLS = {"init", "handleInputRows", "handleExpiredTimer", "handleInitialState", "close"}
"""Methods of Spark's StatefulProcessor, documented by Spark."""


def undocumented(modules: Iterable[Module]) -> list[str]:
    """One line for every public module, class, function and method without a docstring."""
    return [f"{module.place}:{line}: {name} has no docstring" for module in modules for line, name in _missing(module)]


def _missing(module: Module) -> Iterator[tuple[int, str]]:
    if not ast.get_docstring(module.tree):
        yield 1, module.name
    if any(part.startswith("_") for part in module.name.split(".")):
        return
    yield from _missing_in(module.tree, "")


def _missing_in(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[int, str]]:
    for node in parent.body:
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and not _documented_elsewhere(node, inside=bool(prefix)):
            yield node.lineno, prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _missing_in(node, f"{prefix}{node.name}.")


def _documented_elsewhere(node: ast.stmt, inside: bool) -> bool:
    if not isinstance(node, FUNCTIONS):
        return False
    decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
    return bool(decorators & DOCUMENTED_ELSEWHERE) or (inside and node.name in SPARK_CALLS)
