"""The commands on a job directory that no query has run in yet: what they say, and what they refuse."""

import json
from pathlib import Path

import pytest

from whimbrel.cli import app as command_line
from whimbrel.control.settings import JobSettings, fix_settings
from whimbrel.control.stores import open_store


@pytest.fixture
def directory(tmp_path: Path) -> str:
    """A job that was made and never started."""
    place = str(tmp_path / "job")
    fix_settings(open_store(place), JobSettings("counts", bins=16, max_slots=4, slots=2), place)
    return place


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    """Runs a command in this process: its exit code, standard output and standard error."""

    def whimbrel(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            command_line.main(list(words))
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return whimbrel


def test_the_status_of_a_job_that_never_ran_says_so(run, directory: str) -> None:
    code, out, _ = run("status", directory)
    assert code == 0
    assert f"job           counts in {directory}" in out
    assert "none: the query is not running" in out
    assert "2 of at most 4: 0, 1" in out


def test_status_as_json_has_what_a_monitor_needs(run, directory: str) -> None:
    answer = json.loads(run("status", directory, "--json")[1])
    assert (answer["name"], answer["epoch"], answer["slots"], answer["active_slots"]) == ("counts", -1, [0, 1], 2)
    assert not answer["running"] and answer["settled"] and not answer["paused"]


def test_a_plan_of_a_directory_has_the_fields_of_a_plan_of_an_instance(run, directory: str) -> None:
    answer = json.loads(run("plan", directory, "--slots", "3", "--json")[1])
    assert answer["feasible"] and answer["moves"] == answer["cost"] == answer["lower_bound"]
    assert len(answer["intervals"]) == 3 and len(answer["assignment"]) == 16
    assert {"planner", "gain", "limit", "max_load", "hash_cost", "seconds"} <= set(answer)


def test_what_is_posted_without_a_driver_waits_and_says_so(run, directory: str) -> None:
    code, out, errors = run("rescale", directory, "--slots", "3", "--note", "before the sale")
    assert code == 0
    assert "posted as record 1" in out
    assert "no query runs this job" in errors
    assert json.loads(run("status", directory, "--json")[1])["waiting"] == [1]
    history = json.loads(run("history", directory, "--json")[1])["history"]
    assert [(story["what"], story["note"], story["ended"]) for story in history] == [
        ("PlanPosted", "before the sale", "waiting")
    ]


def test_the_lines_of_a_history_are_never_broken(run, directory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert run("history", directory)[1] == "history  nothing was posted to this job yet\n"
    run("pause", directory, "--note", "somebody looks at the " + "disk " * 20)
    head, line = run("history", directory)[1].splitlines()
    assert head.startswith("no") and "pause" in line and line.endswith("disk")


def test_a_plan_that_cannot_be_made_is_an_answer_with_exit_code_three(run, directory: str) -> None:
    code, out, errors = run("rescale", directory, "--slots", "3", "--tau", "0", "--json")
    assert (code, errors) == (3, "")
    answer = json.loads(out)
    assert not answer["feasible"] and answer["posted"] is None and answer["smallest_tau"] > 0
    assert json.loads(run("history", directory, "--json")[1])["history"] == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["rescale", "DIR", "--slots", "9"], "this job can have 1 to 4"),
        (["rescale", "DIR", "--slots", "3", "--pacing", "sudden"], "there is no pacing 'sudden'"),
        (["rescale", "DIR", "--slots", "3", "--pacing", "budget"], "the budget pacing needs its budget"),
        (["rescale", "DIR", "--slots", "3", "--tau", "nan"], "tau is nan"),
        (["rescale", "DIR", "--slots", "3", "--planner", "mine"], "there is no planner 'mine'"),
        (["rollback", "DIR"], "has not moved anything yet"),
        (["audit", "DIR"], "has no sealed epoch yet: start its query first"),
        (["watch", "DIR", "--seconds", "-1"], "Invalid value for '--seconds'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_two(
    run, directory: str, words: list[str], complaint: str
) -> None:
    code, out, errors = run(*(directory if word == "DIR" else word for word in words))
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert complaint in errors


COMMANDS = ("status", "plan", "rebalance", "pause", "resume", "cancel", "rollback", "history", "audit", "watch")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_that_is_no_job_is_refused(run, tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text("{}")
    (tmp_path / "empty").mkdir()
    for place in ("missing", "empty", "file"):
        code, out, errors = run(command, str(tmp_path / place), "--json")
        assert (code, out) == (2, "")
        assert errors.startswith(f"whimbrel: {tmp_path / place} is no Whimbrel job") and errors.count("\n") == 1
    assert not list((tmp_path / "empty").iterdir())


@pytest.mark.parametrize("address", ["http://host/job", "nowhere://host/job"])
def test_a_place_of_an_unknown_kind_is_refused(run, address: str) -> None:
    code, _, errors = run("status", address)
    assert code == 2
    assert errors.startswith(f"whimbrel: {address}: this place cannot be opened here") and errors.count("\n") == 1


def test_a_watch_ends_after_its_seconds_with_one_object_per_change(run, directory: str) -> None:
    code, out, _ = run("watch", directory, "--seconds", "0.6", "--json")
    assert code == 0
    assert [json.loads(line)["name"] for line in out.splitlines()] == ["counts"]
