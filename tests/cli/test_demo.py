"""The demonstration as a person starts it: one answer, a page, progress beside it, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    """The demonstration in a process group of its own, with its temporary files below ``folder``."""
    (folder / "tmp").mkdir()
    command = [sys.executable, "-m", "whimbrel.cli", "demo", "--out", str(folder / "out"), *options]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


def left_running(group: int) -> list[str]:
    """The processes of a group that are still there after a moment's grace."""
    deadline_seconds = time.monotonic() + 15
    while True:
        alive = [p for p in psutil.process_iter() if _group_of(p) == group and p.status() != psutil.STATUS_ZOMBIE]
        if not alive or time.monotonic() > deadline_seconds:
            return [" ".join(process.cmdline())[:80] for process in alive]
        time.sleep(0.3)


def _group_of(process: psutil.Process) -> int:
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return -1


def test_the_demonstration_scales_a_live_stream_and_audits_it(tmp_path: Path) -> None:
    process = start(tmp_path, "--json")
    out, progress = process.communicate(timeout=800)
    assert process.returncode == 0, progress
    answer = json.loads(out)
    assert answer["audit"]["ok"]
    assert answer["audit"]["wrong_pages"] == 0
    assert set(answer["epoch_ms"]) == {"before", "during", "after"}
    assert [(r["from_slots"], r["to_slots"]) for r in answer["rescales"]] == [(2, 4), (4, 3)]
    assert all(r["bytes_moved"] == r["bytes_at_least"] > 0 for r in answer["rescales"])
    assert "<svg" in Path(answer["report"]).read_text()
    assert not left_running(process.pid)
    assert not list((tmp_path / "tmp").glob("whimbrel-demo-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demonstration_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path)
    folder = tmp_path / "tmp"
    deadline_seconds = time.monotonic() + 300
    while not list(folder.glob("whimbrel-demo-*/job/control/seals/*")) and time.monotonic() < deadline_seconds:
        time.sleep(0.5)
    process.send_signal(number)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert not out
    assert not left_running(process.pid)
    assert not list(folder.glob("whimbrel-demo-*"))
