"""A MkDocs hook: finds the pages by folder, so that a new page needs no entry; writes the API pages from docstrings.

The API pages exist only while the site is built: docstrings are their one source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "whimbrel"
SECTIONS = {"Tutorial": "tutorial", "How-to": "how-to", "Reference": "reference", "Explanation": "explanation"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def on_files(files: Files, config: Any) -> Files:
    """Adds the API pages and lays the navigation out by section."""
    for room, text in api_pages():
        files.append(File.generated(config, f"reference/api/{room}.md", content=text))
    config.nav = [{"Home": "index.md"}, *navigation(sorted(page.src_uri for page in files.documentation_pages()))]
    return files


def navigation(pages: list[str]) -> Iterator[dict[str, Any]]:
    """One entry for each section that has pages; the API goes to the end of the reference."""
    for title, folder in SECTIONS.items():
        inside = [page for page in pages if page.startswith(f"{folder}/")]
        api = [page for page in inside if page.startswith("reference/api/")]
        entries: list[Any] = [page for page in inside if page not in api]
        if api:
            entries.append({"Python API": api})
        if entries:
            yield {title: entries}


def api_pages() -> Iterator[tuple[str, str]]:
    """Room and Markdown of its page, for every room with modules."""
    for folder in sorted(path for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()):
        sections = [section for path in sorted(folder.rglob("*.py")) if (section := module_section(path))]
        yield folder.name, "\n\n".join([f"# {folder.name}", *sections]) + "\n"


def module_section(path: Path) -> str:
    """A module's docstring and those of its public names; empty for private modules."""
    relative = path.relative_to(PACKAGE.parent).with_suffix("")
    if path.stem.startswith("_") and path.stem != "__init__":
        return ""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = ".".join(part for part in relative.parts if part != "__init__")
    heading = "" if path.name == "__init__.py" else f"## {name}\n\n"
    return "\n\n".join([heading + prose(tree), *members(tree, "###")]).strip()


def members(parent: ast.Module | ast.ClassDef, level: str) -> Iterator[str]:
    """One part for each public class, function and method."""
    for node in parent.body:
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) or node.name.startswith("_"):
            continue
        yield f"{level} `{signature(node)}`\n\n{prose(node)}"
        if isinstance(node, ast.ClassDef):
            yield from members(node, level + "#")


def signature(node: ast.stmt) -> str:
    """The name as one writes it down: a class with its fields, a function with its arguments."""
    if isinstance(node, FUNCTIONS):
        answer = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{node.name}({ast.unparse(node.args)}){answer}"
    assert isinstance(node, ast.ClassDef)
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    return f"class {node.name}({bases})" if bases else f"class {node.name}"


def prose(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A docstring as Markdown: interactive examples become code blocks."""
    text = ast.get_docstring(node) or ""
    return re.sub(r"(?m)^>>> .*(?:\n.+)*", lambda found: f"```pycon\n{found.group()}\n```", text)
