"""By night every randomised operator test is one of the long targets, two thousand cases each."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks them, so that ``-m nightly`` finds them under the nightly profile."""
    if settings.default.max_examples < 2000:  # type: ignore[union-attr]
        return
    for item in items:
        if HERE in item.path.parents and is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("nightly")
            item.add_marker(pytest.mark.timeout(3600))
