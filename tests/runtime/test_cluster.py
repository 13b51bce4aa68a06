"""Real executors in processes of their own: slots stay where they are, and a rescale uses an executor that joins later."""

import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from whimbrel.cli.java import use_java

ROOT = Path(__file__).resolve().parents[2]
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def environment():
    env = dict(os.environ)
    use_java(env)
    path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "src"), env.get("PYTHONPATH")]))
    return env | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}


def command(folder: Path, master: str) -> list[str]:
    return [sys.executable, "-m", "tests.runtime.cluster_driver", str(folder), master]


def homes(folder: Path) -> dict[int, dict[int, int]]:
    """slot -> epoch -> executor, from the first epoch after the rescale was posted on; every slot's count checked."""
    found: dict[int, dict[int, int]] = defaultdict(dict)
    rows = pq.read_table(folder / "out").to_pylist()
    epochs = {row["epoch"] for row in rows}
    assert sum(row["rows"] for row in rows) == 400 * len(epochs)
    for row in rows:
        found[row["slot"]][row["epoch"]] = row["executor"]
    return found


def moved_house(home: dict[int, int]) -> list[int]:
    """The epochs in which a slot ran elsewhere than in the epoch before."""
    epochs = sorted(home)
    return [later for sooner, later in zip(epochs, epochs[1:]) if home[sooner] != home[later]]


def test_slots_stay_on_their_executors_from_epoch_to_epoch(tmp_path, environment):
    log = tmp_path / "driver.log"
    with log.open("wb") as out:
        subprocess.run(
            command(tmp_path, "local-cluster[2,1,1024]"), env=environment | {"LOCALITY_WAIT": "3s"}, cwd=ROOT,
            stdout=out, stderr=out, timeout=600, check=False,
        )  # fmt: skip
    assert (tmp_path / "rescaled").exists(), log.read_text()[-3000:]
    found = homes(tmp_path)
    assert len({who for home in found.values() for who in home.values()}) == 2
    assert set(found) == {0, 1, 2, 3}
    last = max(max(home) for home in found.values())
    for slot, home in found.items():
        assert not [e for e in moved_house(home) if e > last - 6], (slot, home)


def test_a_rescale_uses_an_executor_that_joined_later(tmp_path, environment):
    started = []

    def launch(name: str, *words: str) -> Path:
        log = tmp_path / f"{name}.log"
        with log.open("wb") as out:
            started.append(
                subprocess.Popen([str(SPARK_CLASS), *words], env=environment, cwd=tmp_path, stdout=out, stderr=out)
            )
        return log

    try:
        master_log = launch("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0",
                            "--webui-port", "0")  # fmt: skip
        master = wait_for(master_log, r"spark://127\.0\.0\.1:[1-9]\d*")
        worker = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "-c", "2",
                  "-m", "1200m", master]  # fmt: skip
        launch("worker-1", *worker, "-d", str(tmp_path / "w1"))
        with (tmp_path / "driver.log").open("wb") as out:
            driver = subprocess.Popen(command(tmp_path, master), env=environment, cwd=ROOT, stdout=out, stderr=out)
        started.append(driver)
        while driver.poll() is None and not (tmp_path / "join").exists():
            time.sleep(0.2)
        launch("worker-2", *worker, "-d", str(tmp_path / "w2"))
        assert driver.wait(600) == 0, (tmp_path / "driver.log").read_text()[-3000:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
    found = homes(tmp_path)
    rescaled = int((tmp_path / "rescaled").read_text())
    before = {who for home in found.values() for epoch, who in home.items() if epoch <= rescaled}
    last = max(max(home) for home in found.values())
    after = {who for home in found.values() for epoch, who in home.items() if epoch > last - 5}
    assert len(before | after) == 2 and len(after) == 2
    for slot, home in found.items():
        assert not [e for e in moved_house(home) if e > last - 4], (slot, home)


def wait_for(log: Path, pattern: str) -> str:
    for _ in range(300):
        found = re.search(pattern, log.read_text())
        if found:
            return found.group()
        time.sleep(0.2)
    raise AssertionError(f"{pattern} never came: {log.read_text()[-2000:]}")
