"""The tree that the house rules look at: its modules, their syntax trees and their imports."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "whimbrel"


@dataclass(frozen=True)
class Import:
    """One imported module of ours or of others; ``lazy`` when it happens inside a function or for types only."""

    name: str
    line: int
    lazy: bool


@dataclass(frozen=True)
class Module:
    """One file under src/whimbrel."""

    path: Path
    root: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @property
    def place(self) -> str:
        return str(self.path.relative_to(self.root))

    @property
    def name(self) -> str:
        """The dotted name, a package's without ``__init__``."""
        parts = self.path.relative_to(self.root / "src").with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def room(self) -> str:
        """The room it lives in; empty for the package itself."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import of the file, relative ones resolved, ``from a import b`` as a and as a.b."""
        return tuple(self._imports_in(self.tree, lazy=False))

    def _imports_in(self, node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, child.lineno, lazy) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                origin = self._origin(child)
                yield Import(origin, child.lineno, lazy)
                yield from (Import(f"{origin}.{alias.name}", child.lineno, lazy) for alias in child.names)
            else:
                hidden = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from self._imports_in(child, lazy or hidden or _is_for_types_only(child))

    def _origin(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        base = self.name.split(".")
        above = statement.level - (self.path.name == "__init__.py")
        base = base[: len(base) - above] if above else base
        return ".".join([*base, *([statement.module] if statement.module else [])])


def _is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


@lru_cache
def modules(root: Path = ROOT) -> tuple[Module, ...]:
    """All modules of the package, by path."""
    return tuple(Module(path, root) for path in sorted((root / "src" / PACKAGE).rglob("*.py")))


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module, nested ones too."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def tracked_files(root: Path = ROOT) -> list[Path]:
    """The files that git knows or would add; without git (an archive), the files of the usual folders."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False) if (root / ".git").exists() else None
    if listed is not None and listed.returncode == 0:
        return [root / line for line in listed.stdout.splitlines() if (root / line).is_file()]
    folders = ("src", "tests", "docs", "scripts", ".ci")
    inside = [path for folder in folders for path in (root / folder).rglob("*") if "__pycache__" not in path.parts]
    return [path for path in [*root.glob("*.*"), root / "Makefile", *inside] if path.is_file()]
