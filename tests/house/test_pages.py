"""What the README and the documentation show is what happens."""

from pathlib import Path

import pytest
from tests.house.pages import Page, pages_with_python
from tests.house.source import ROOT

PAGES = pages_with_python(ROOT)


def name_of(page: Page) -> str:
    """The page's place in the tree, as the test's name."""
    return str(page.path.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if not page.needs_spark], ids=name_of)
def test_the_python_of_a_page_runs(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page.run({"__name__": "__page__"})


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [page for page in PAGES if page.needs_spark], ids=name_of)
def test_the_python_of_a_spark_page_runs(page: Page, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    page.run({"__name__": "__page__"})
    left_running = list(spark.streams.active)
    for query in left_running:
        query.stop()
    assert not left_running, "the page leaves a query running: stop it in its last block"
