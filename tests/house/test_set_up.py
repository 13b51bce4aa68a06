"""The set-up script on machines that lack things: it says what to do in one line, and does nothing twice.

The interpreters here are little scripts that keep a diary of how they were called.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.house.source import ROOT

TOOLS = ("sh", "dirname", "id", "cat", "cksum", "rm", "mkdir", "cp", "chmod", "env")

INTERPRETER = """#!/bin/sh
echo "$0 $*" >>"{diary}"
case "$*" in
    *version_info*) echo {version} ;;
    *"import ensurepip"*) exit {ensurepip} ;;
    "-m venv "*) [ {venv} = 0 ] || exit {venv}; mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *"pip install"*) exit {pip} ;;
    *find_java*) exit {java} ;;
esac
"""


class Machine:
    """A tree with the set-up script, and a PATH with only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.programs = folder / "bin"
        self.diary = folder / "diary"
        (self.tree / "scripts").mkdir(parents=True)
        self.programs.mkdir()
        shutil.copy(ROOT / "scripts" / "set_up.sh", self.tree / "scripts")
        for name in ("pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, self.tree)
        for tool in TOOLS:
            (self.programs / tool).symlink_to(str(shutil.which(tool)))

    def has_python(
        self, name: str, version: str, ensurepip: int = 0, java: int = 0, venv: int = 0, pip: int = 0
    ) -> None:
        """Puts an interpreter on PATH; ``ensurepip``, ``java``, ``venv`` and ``pip`` are exit codes of those calls."""
        program = self.programs / name
        codes = {"ensurepip": ensurepip, "java": java, "venv": venv, "pip": pip}
        program.write_text(INTERPRETER.format(diary=self.diary, version=version, **codes))
        program.chmod(0o755)

    def set_up(self, *extras: str) -> subprocess.CompletedProcess[str]:
        """Runs the script."""
        command = [self.programs / "sh", self.tree / "scripts" / "set_up.sh", *extras]
        return subprocess.run(
            command, env={"PATH": str(self.programs)}, capture_output=True, text=True, check=False, timeout=30
        )

    def calls(self, words: str) -> int:
        """How often an interpreter was called with these words."""
        return sum(words in line for line in self.diary.read_text().splitlines())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_a_python_one_line_says_what_to_do(machine: Machine) -> None:
    done = machine.set_up()
    assert done.returncode == 2
    assert done.stderr.startswith("whimbrel: no Python 3.10 to 3.13 on PATH: install one")
    assert done.stderr.count("\n") == 1


def test_a_python_that_is_too_old_is_passed_over(machine: Machine) -> None:
    machine.has_python("python3", "3.9")
    machine.has_python("python3.12", "3.12")
    assert machine.set_up().returncode == 0
    assert machine.calls("python3.12 -m venv") == 1


def test_a_python_that_can_make_environments_is_preferred(machine: Machine) -> None:
    machine.has_python("python3", "3.11", ensurepip=1)
    machine.has_python("python3.10", "3.10")
    assert machine.set_up().returncode == 0
    assert machine.calls("python3.10 -m venv") == 1


def test_without_the_venv_module_one_line_says_what_to_install(machine: Machine) -> None:
    machine.has_python("python3", "3.11", ensurepip=1)
    done = machine.set_up()
    assert done.returncode == 2
    assert "run 'apt-get install python3.11-venv' as root" in done.stderr.splitlines()[-1]


def test_without_a_java_one_line_says_what_to_install(machine: Machine) -> None:
    machine.has_python("python3", "3.11", java=1)
    done = machine.set_up()
    assert done.returncode == 2
    assert "Spark needs Java 17 or newer: install it" in done.stderr.splitlines()[-1]


def test_an_environment_that_cannot_be_made_is_one_line_at_the_end(machine: Machine) -> None:
    machine.has_python("python3", "3.11", venv=1)
    done = machine.set_up()
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("whimbrel: the environment could not be made in")


def test_without_a_network_one_line_says_what_to_check(machine: Machine) -> None:
    machine.has_python("python3", "3.11", pip=1)
    done = machine.set_up()
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("whimbrel: pip could not install the packages above")
    assert not list((machine.tree / ".venv").glob(".installed*"))


def test_a_second_run_installs_nothing(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    assert machine.set_up().returncode == 0
    assert machine.set_up().returncode == 0
    assert machine.calls("-m venv") == 1
    assert machine.calls("pip install") == 1


def test_changed_requirements_are_installed_again(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    machine.set_up()
    with (machine.tree / "constraints.txt").open("a") as file:
        file.write("another==1.0\n")
    machine.set_up()
    assert machine.calls("pip install") == 2


def test_further_extras_are_installed_beside_the_usual_ones(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    machine.set_up("docs")
    assert machine.calls(".[spark,viz,dev,docs]") == 1


def test_the_constraints_hold_names_and_versions_only() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all("==" in line and "/" not in line and "@" not in line for line in lines)
    assert {line.split("==")[0] for line in lines} >= {"pyspark", "numpy", "pytest", "ruff", "mypy"}
