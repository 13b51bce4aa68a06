"""The line counter counts code and nothing else."""

from __future__ import annotations

from pathlib import Path

from whimbrel.nexmark.lines import code_lines, lines_of, table
from whimbrel.nexmark.queries import MIGRATABLE

MODULE = '''"""Header
over two lines."""

from __future__ import annotations

import os

LIMIT = 3  # counted
"""What it is."""


def first(a, b):
    """Docstring."""
    # a comment
    if a:
        return max(
            a,
            b,
        )
    return b
'''


def test_blank_lines_comments_docstrings_and_imports_do_not_count():
    assert code_lines(MODULE) == 8


def test_shared_files_count_for_every_query_that_uses_them():
    assert lines_of("queries", "q4") > lines_of("queries", "q7")
    assert lines_of("queries", "q0") < 15


def test_every_query_has_both_counts():
    rows = table()
    assert [row["query"] for row in rows] == list(MIGRATABLE)
    assert all(row["native"] > 1 and row["migratable"] > 1 for row in rows)


def test_the_reference_page_prints_these_counts():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "nexmark.md").read_text(encoding="utf-8")
    for row in table():
        line = f"| {row['query']} | {row['native']} | {row['migratable']} | {row['shared']} |"
        assert line in page, f"docs/reference/nexmark.md should have the line {line}"
