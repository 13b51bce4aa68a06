"""The commands of another terminal on a job whose query runs in this process: posted, carried out, told and proved."""

import json
import os
import subprocess
import sys

import pytest

import whimbrel as wb
from whimbrel.bench.epochs import Follower
from whimbrel.bench.streams import KeyStream

BINS = 16


def terminal(directory, *words: str, code: int = 0) -> dict:
    """A command in a process of its own: its JSON answer."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "whimbrel.cli", words[0], str(directory), *words[1:], "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_running_job_is_steered_watched_and_audited_from_another_terminal(spark, tmp_path):
    job = wb.job(spark, "steered", max_slots=4, bins=BINS, slots=2, directory=tmp_path / "job")
    counts = job.aggregate(KeyStream(300, 500).read(spark), "key", n=wb.count())
    follower = Follower(job.writer(counts).format("noop").start())
    try:
        follower.epochs(2)
        born = job.board.assignment()
        assert terminal(job.directory, "status")["running"]
        planned = terminal(job.directory, "plan", "--slots", "4")
        moved = terminal(job.directory, "rescale", "--slots", "4", "--size", "8", "--wait", "--note", "a sale")
        assert moved["posted"] == 1 and moved["status"]["settled"] and moved["status"]["active_slots"] == 4
        assert moved["slots"] == planned["slots"] == 4

        terminal(job.directory, "pause", "--note", "hold it")
        waiting = terminal(job.directory, "rollback", "--size", "8")
        follower.epochs(2)
        paused = terminal(job.directory, "status")
        assert paused["paused"] and not paused["settled"] and waiting["posted"] == 3
        watched = subprocess.run(
            [sys.executable, "-m", "whimbrel.cli", "watch", job.directory, "--seconds", "0.5", "--json"],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert json.loads(watched.stdout.splitlines()[0])["paused"]
        terminal(job.directory, "resume")
        follower.until(lambda: job.status().settled, 120)
        assert job.board.assignment() == born

        terminal(job.directory, "rebalance", "--planner", "even")
        terminal(job.directory, "cancel")
        follower.until(lambda: job.status().settled, 120)
        audit = terminal(job.directory, "audit")
        assert audit["ok"] and audit["bins"] == BINS and audit["owners_ok"] and audit["digest_ok"] and audit["rows_ok"]
        assert audit["rows"] == audit["rows_in"] == 500 * (audit["epoch"] + 1)
    finally:
        follower._query.stop()
    job.close()
    told = terminal(job.directory, "history")["history"]
    assert [story["what"] for story in told][:4] == ["PlanPosted", "Paused", "RolledBack", "Resumed"]
    assert told[0]["note"] == "a sale" and told[0]["ended"] == told[2]["ended"] == "done"
    stopped = terminal(job.directory, "status")
    assert not stopped["running"] and stopped["settled"]
