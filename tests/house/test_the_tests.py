"""The house rules bite: in a copy of the tree, each offence makes the very test fail that guards against it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.house.source import ROOT

KEPT = (
    "src",
    "tests/house",
    "tests/conftest.py",
    "docs",
    "scripts",
    "pyproject.toml",
    *sorted(page.name for page in ROOT.glob("*.md")),
)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the house rules read."""
    copy = tmp_path_factory.mktemp("tree")
    for name in KEPT:
        source, target = ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return copy


@pytest.fixture
def tree(pristine: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil: the files are links, so ``write`` replaces them and never changes them in place."""
    return Path(shutil.copytree(pristine, tmp_path / "tree", copy_function=os.link))


def verdict(tree: Path, test: str) -> subprocess.CompletedProcess[str]:
    """The outcome of one house test on a tree of its own."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "tests/house", "-k", test, "-m", "not spark", "-p", "no:randomly"]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=120)


def write(tree: Path, place: str, text: str) -> None:
    """Adds a file, or text at the end of one."""
    replace(tree, place, ((tree / place).read_text(encoding="utf-8") if (tree / place).exists() else "") + text)


def replace(tree: Path, place: str, text: str) -> None:
    """Puts another file in the place of one."""
    (tree / place).unlink(missing_ok=True)
    (tree / place).write_text(text, encoding="utf-8")


def break_a_contract(tree: Path) -> None:
    write(tree, "src/whimbrel/model/spoiled.py", '"""Leans on Spark."""\n\nimport pyspark  # noqa: F401\n')


def import_a_room_above(tree: Path) -> None:
    write(tree, "src/whimbrel/model/spoiled.py", '"""Leans on the cli."""\n\nfrom whimbrel.cli import app as app\n')


def close_a_cycle(tree: Path) -> None:
    write(tree, "src/whimbrel/model/spoiled.py", '"""One."""\n\nimport whimbrel.model.other\n')
    write(tree, "src/whimbrel/model/other.py", '"""Two."""\n\nimport whimbrel.model.spoiled\n')


def add_a_long_module(tree: Path) -> None:
    write(tree, "src/whimbrel/model/spoiled.py", '"""Long."""\n' + "".join(f"N{i} = {i}\n" for i in range(500)))


def add_a_long_function(tree: Path) -> None:
    body = "".join(f"    n{i} = {i}\n" for i in range(80))
    write(tree, "src/whimbrel/model/spoiled.py", f'"""Long."""\n\n\ndef endless() -> None:\n    """Long."""\n{body}')


def hide_a_promise(tree: Path) -> None:
    write(tree, "src/whimbrel/model/move.py", "\n\ndef undescribed() -> int:\n    return 1\n")


def forget_a_unit(tree: Path) -> None:
    write(tree, "src/whimbrel/model/move.py", '\n\ndef wait(timeout: float) -> None:\n    """Waits."""\n')


def evaluate_text(tree: Path) -> None:
    write(tree, "src/whimbrel/model/move.py", '\n\nANSWER = eval("6 * 7")\n')


def leave_an_open_end(tree: Path) -> None:
    write(tree, "src/whimbrel/model/move.py", "\n# TO" + "DO: later\n")


def name_a_machine(tree: Path) -> None:
    write(tree, "docs/reference/spoiled.md", "# Spoiled\n\nSee /wo" + "rk/main.\n")


def lose_a_page(tree: Path) -> None:
    write(tree, "docs/index.md", "\nSee [the page](how-to/not-there.md) and [a part](index.md#no-such-part).\n")


def break_the_front_page(tree: Path) -> None:
    """The page is replaced by one without Spark, so that the verdict takes a second."""
    replace(tree, "README.md", "# Front\n\n```python\nimport whimbrel\n\nwhimbrel.no_such_name\n```\n")


def edit_the_reference_by_hand(tree: Path) -> None:
    write(tree, "docs/reference/command-line.md", "\nAnother promise.\n")


OFFENCES: list[tuple[Callable[[Path], None], str, str]] = [
    (break_a_contract, "test_every_room_imports_only", "never imports pyspark"),
    (import_a_room_above, "test_every_room_imports_only", "model may not import whimbrel.cli"),
    (close_a_cycle, "test_no_cycle_runs", "whimbrel.model.other -> whimbrel.model.spoiled"),
    (add_a_long_module, "test_modules_and_functions", "501 lines"),
    (add_a_long_function, "test_modules_and_functions", "endless has"),
    (hide_a_promise, "test_every_public_name", "undescribed has no docstring"),
    (forget_a_unit, "test_numbers_with_a_unit", "timeout is a number without a unit"),
    (evaluate_text, "test_nothing_runs_foreign", "eval is not for this house"),
    (leave_an_open_end, "test_there_are_no_open_ends", "move.py"),
    (name_a_machine, "test_no_file_names_a_machine", "spoiled.md:3"),
    (lose_a_page, "test_every_link", "how-to/not-there.md leads nowhere"),
    (break_the_front_page, "test_the_python_of_a_page_runs and README", "no_such_name"),
    (edit_the_reference_by_hand, "test_the_command_reference", "make reference"),
]


@pytest.mark.parametrize(("offence", "test", "message"), OFFENCES, ids=[offence.__name__ for offence, _, _ in OFFENCES])
def test_an_offence_makes_its_rule_fail(tree: Path, offence: Callable[[Path], None], test: str, message: str) -> None:
    offence(tree)
    outcome = verdict(tree, test)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    assert message in outcome.stdout
