"""``kill -9`` of the driver and of the worker at every named point of the handover: nothing lost, nothing doubled."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.runtime.counting import Running, open_job

from whimbrel.bench.streams import KeyStream
from whimbrel.control import lease
from whimbrel.model import faults
from whimbrel.testing import fault_environment

ROOT = Path(__file__).resolve().parents[2]
EPOCHS = {
    faults.SEAL_DECIDED: 2,
    faults.SEAL_WRITTEN: 2,
    faults.ROWS_ROUTED: 3,
    faults.ARRIVALS_INSTALLED: 4,
    faults.ROWS_APPLIED: 4,
    faults.EXPORT_WRITTEN: 3,
    faults.SLOT_COMMITTED: 4,
    faults.RELEASED: 5,
}
"""An epoch in which the point is reached; a fault that never fires fails the test."""


def launch(folder: Path, fault: dict[str, str], *words: str, epochs: int = 8) -> subprocess.Popen[bytes]:
    """Start the driver; what it says goes to ``driver.log``."""
    env = dict(os.environ, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1") | fault
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "tests.runtime.driver", str(folder), str(epochs), "4", *words]
    with (folder / "driver.log").open("ab") as log:
        return subprocess.Popen(command, env=env, cwd=ROOT, stdout=log, stderr=log)


def drive(folder: Path, fault: dict[str, str], *words: str) -> int:
    """Run the driver to its end or to its death; its exit code."""
    with launch(folder, fault, *words) as driver:
        return driver.wait(280)


def said(folder: Path) -> str:
    return (folder / "driver.log").read_text()


def check(spark, folder: Path) -> None:
    """Read the state in this process, with the dead driver's lease out of the way."""
    job = open_job(spark, folder)
    Running(spark, job, KeyStream(300, 500), None).assert_exact()  # type: ignore[arg-type]


def kill_and_restart(spark, folder: Path, point: str) -> None:
    kill(folder, point)
    assert drive(folder, {}) == 0, said(folder)[-3000:]
    check(spark, folder)


def kill(folder: Path, point: str, *words: str) -> None:
    code = drive(folder, fault_environment(point, EPOCHS[point], folder / "mark"), *words)
    assert (folder / "mark").exists(), f"{point} was never reached in epoch {EPOCHS[point]}: {said(folder)[-3000:]}"
    assert code == -9, f"the driver survived its own kill with code {code}: {said(folder)[-3000:]}"


@pytest.mark.parametrize("point", [faults.EXPORT_WRITTEN])
def test_a_driver_killed_in_the_handover_comes_back_exactly(spark, tmp_path, point):
    kill_and_restart(spark, tmp_path, point)


@pytest.mark.slow
@pytest.mark.parametrize("point", [p for p in faults.ALL if p != faults.EXPORT_WRITTEN])
def test_a_driver_killed_at_any_named_point_comes_back_exactly(spark, tmp_path, point):
    kill_and_restart(spark, tmp_path, point)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_function_that_throws_dice_is_found_by_the_replay_of_its_export(tmp_path):
    kill(tmp_path, faults.EXPORT_WRITTEN, "dice")
    assert drive(tmp_path, {}, "dice") != 0
    assert "two runs of one epoch exported different bytes for operator 'state_machine'" in said(tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_driver_that_was_paused_and_comes_back_is_stopped_by_the_fence(spark, tmp_path):
    first = launch(tmp_path, {}, epochs=10_000)
    seals = tmp_path / "job/control/seals"
    try:
        wait_until(lambda: len(list(seals.glob("*.seal"))) > 3)
        frozen = descendants(first.pid)
        signal_all(frozen, signal.SIGSTOP)
        assert drive(tmp_path, {}) != 0, "a second driver ran beside the first"
        assert "is in use by the driver with process" in said(tmp_path)
        time.sleep(lease.EXPIRES_SECONDS)
        before = len(said(tmp_path))
        assert drive(tmp_path, {}) == 0, said(tmp_path)[before:][-3000:]
        assert "has taken over" not in said(tmp_path)
        seals_of_the_second = sorted(seals.glob("*.seal"))
        signal_all(frozen, signal.SIGCONT)
        assert first.wait(240) not in {0, None}
        assert "generation 2 has taken over" in said(tmp_path)
        assert sorted(seals.glob("*.seal")) == seals_of_the_second
    finally:
        signal_all(descendants(first.pid), signal.SIGKILL)
        first.wait()
    check(spark, tmp_path)


def wait_until(reached) -> None:
    deadline = time.monotonic() + 240
    while not reached():
        assert time.monotonic() < deadline, "what was waited for has not come"
        time.sleep(0.1)


def descendants(root: int) -> list[int]:
    """A process and all below it, itself first."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def signal_all(pids, number) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
