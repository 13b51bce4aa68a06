"""The rooms keep their import contracts, and importing the package costs nothing."""

import subprocess
import sys
import time

import pytest
from tests.house.contracts import MAY_IMPORT, contract_faults, cycles, find_cycle
from tests.house.source import ROOT, modules


def test_every_room_imports_only_what_its_contract_allows() -> None:
    assert not (faults := contract_faults(modules())), "\n" + "\n".join(faults)


def test_no_cycle_runs_through_modules_or_rooms() -> None:
    assert not (found := cycles(modules())), "\n".join(found)


def test_the_contract_itself_has_no_cycle() -> None:
    measuring = {"bench", "experiments"}
    assert not find_cycle({room: allowed - measuring for room, allowed in MAY_IMPORT.items() if room not in measuring})


def test_runtime_and_simulation_never_know_each_other() -> None:
    assert "sim" not in MAY_IMPORT["runtime"]
    assert "runtime" not in MAY_IMPORT["sim"]


def seconds_and_modules_of(statement: str) -> tuple[float, set[str]]:
    """How long a statement takes in a fresh interpreter (best of three), and the packages it has loaded then."""
    program = f"import sys, time; t = time.perf_counter(); {statement}; s = time.perf_counter() - t\n"
    program += "print(s); print(*sorted({name.split('.')[0] for name in sys.modules}))"
    runs = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
        elapsed, loaded = done.stdout.splitlines()
        runs.append((float(elapsed), set(loaded.split())))
    return min(runs, key=lambda run: run[0])


def test_importing_the_package_is_quick_and_loads_no_spark() -> None:
    elapsed_seconds, loaded = seconds_and_modules_of("import whimbrel")
    assert elapsed_seconds < 0.3
    assert not loaded & {"pyspark", "numpy", "scipy", "numba", "pyarrow", "matplotlib"}


def test_gathering_the_commands_loads_nothing_heavy() -> None:
    elapsed_seconds, loaded = seconds_and_modules_of("from whimbrel.cli.app import load_commands; load_commands()")
    assert elapsed_seconds < 0.4
    assert not loaded & {"pyspark", "scipy", "numba", "pyarrow", "matplotlib", "pandas"}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_the_command_line_starts_quickly(arguments: list[str]) -> None:
    started = [time.perf_counter()]
    for _ in range(3):
        done = subprocess.run([sys.executable, "-m", "whimbrel.cli", *arguments], capture_output=True, check=False)
        started.append(time.perf_counter())
        assert done.returncode == 0, done.stderr.decode()
    assert min(b - a for a, b in zip(started, started[1:])) < 0.6
