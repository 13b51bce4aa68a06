"""The Python of the README and of the documentation: which blocks stand where, and how a page is run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^(?P<indent> *)```python *\n(?P<code>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
SPARK = re.compile(r"\b(pyspark|spark|SparkSession)\b")


@dataclass(frozen=True)
class Page:
    """One Markdown page that holds Python."""

    path: Path
    blocks: tuple[tuple[int, str], ...]
    """Line on which each block's code begins, and the code without the fence's indentation."""

    @property
    def needs_spark(self) -> bool:
        """Whether some block talks to Spark."""
        return any(SPARK.search(code) for _, code in self.blocks)

    def run(self, namespace: dict[str, Any]) -> None:
        """Runs all blocks in one namespace; a fault shows the page and its own line number."""
        for line, code in self.blocks:
            compiled = compile("\n" * (line - 1) + code, str(self.path), "exec")
            exec(compiled, namespace)


def page_of(path: Path) -> Page:
    """Reads one page."""
    text = path.read_text(encoding="utf-8")
    blocks = []
    for found in FENCE.finditer(text):
        indent = len(found["indent"])
        code = "".join(line[indent:] or "\n" for line in found["code"].splitlines(keepends=True))
        blocks.append((text.count("\n", 0, found.start("code")) + 1, code))
    return Page(path, tuple(blocks))


def pages_with_python(root: Path) -> list[Page]:
    """The README, the other pages at the root and everything under docs/, where there is Python in it."""
    paths = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    return [page for page in map(page_of, paths) if page.blocks]
