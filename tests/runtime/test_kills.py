"""``kill -9`` of the driver and of the worker at every named point of the handover: nothing lost, nothing doubled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.runtime.counting import Running, open_job

from whimbrel.bench.streams import KeyStream
from whimbrel.model import faults

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


def drive(folder: Path, fault: str | None) -> int:
    """Run the driver to its end or to its death; its exit code."""
    env = dict(os.environ, PYSPARK_PYTHON=sys.executable, PYTHONPATH=str(ROOT), SPARK_LOCAL_IP="127.0.0.1")
    env.pop("WHIMBREL_FAULT", None)
    if fault:
        env |= {"WHIMBREL_FAULT": fault, "WHIMBREL_FAULT_MARK": str(folder / "mark")}
    command = [sys.executable, "-m", "tests.runtime.driver", str(folder), "8", "4"]
    with (folder / "driver.log").open("ab") as log:
        return subprocess.run(command, env=env, cwd=ROOT, stdout=log, stderr=log, timeout=280, check=False).returncode


def check(spark, folder: Path) -> None:
    """Read the state in this process, with the dead driver's lease out of the way."""
    job = open_job(spark, folder)
    Running(spark, job, KeyStream(300, 500), None).assert_exact()  # type: ignore[arg-type]


def kill_and_restart(spark, folder: Path, point: str) -> None:
    code = drive(folder, f"{point}@{EPOCHS[point]}")
    log = (folder / "driver.log").read_text()[-3000:]
    assert (folder / "mark").exists(), f"the fault {point} never fired in epoch {EPOCHS[point]}: {log}"
    assert code == -9, f"the driver survived its own kill with code {code}: {log}"
    assert drive(folder, None) == 0, (folder / "driver.log").read_text()[-3000:]
    check(spark, folder)


@pytest.mark.parametrize("point", [faults.EXPORT_WRITTEN])
def test_a_driver_killed_in_the_handover_comes_back_exactly(spark, tmp_path, point):
    kill_and_restart(spark, tmp_path, point)


@pytest.mark.slow
@pytest.mark.parametrize("point", [p for p in faults.ALL if p != faults.EXPORT_WRITTEN])
def test_a_driver_killed_at_any_named_point_comes_back_exactly(spark, tmp_path, point):
    kill_and_restart(spark, tmp_path, point)
