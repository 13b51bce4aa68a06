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


LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def dead_links(root: Path) -> list[str]:
    """One line for every link to a page, a picture or a heading of ours that is not there."""
    pages = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    return [
        f"{page.relative_to(root)}: {target} leads nowhere"
        for page in pages
        for target in (found["target"] for found in LINK.finditer(FENCED.sub("", page.read_text(encoding="utf-8"))))
        if "://" not in target and not _is_there(page, target)
    ]


def _is_there(page: Path, target: str) -> bool:
    place, _, heading = target.partition("#")
    there = (page.parent / place).resolve() if place else page
    if not there.exists():
        return False
    return not heading or heading in {_anchor(found) for found in HEADING.findall(there.read_text(encoding="utf-8"))}


def _anchor(heading: str) -> str:
    """What the site and GitHub make of a heading: small letters, digits and hyphens."""
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
