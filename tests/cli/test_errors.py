"""Errors at the command line: one clear line, the contract's exit code, a traceback only on request."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from whimbrel.cli import app as command_line
from whimbrel.model.errors import BadInput, Damaged, JobInUse


def outcome(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit code and standard error of a command run in this process."""
    with pytest.raises(SystemExit) as left:
        command_line.main(list(words))
    return int(left.value.code or 0), capsys.readouterr().err


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """Lets the only command, ``fail``, raise what the test wants."""

    def install(error: BaseException) -> None:
        def fail() -> None:
            raise error

        spare = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
        spare.callback()(command_line.root)
        spare.command("fail")(fail)
        monkeypatch.setattr(command_line, "load_commands", lambda: spare)

    return install


@pytest.mark.parametrize("command", [["demo"], ["bench", "planner"], ["experiment", "run", "planner-tau"]])
def test_a_folder_that_cannot_be_made_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    code, text = outcome(capsys, *command, "--out", str(tmp_path / "file" / "below"))
    assert (code, text.count("\n")) == (2, 1)
    assert "this folder cannot be made" in text


@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "inf"])
def test_a_bench_has_a_time_that_ends(capsys: pytest.CaptureFixture[str], tmp_path: Path, seconds: str) -> None:
    code, text = outcome(capsys, "bench", "keycount", "--seconds", seconds, "--out", str(tmp_path))
    assert (code, text.count("\n")) == (2, 1)
    assert "it must be above zero and finite" in text


@pytest.mark.parametrize("words", [["no-such-command"], ["--no-such-option"]])
def test_bad_usage_is_one_line_and_exit_code_two(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    code, text = outcome(capsys, *words)
    assert code == 2
    assert text.count("\n") == 1
    assert words[0] in text


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (BadInput("tau is -1: it must be\nzero or more"), 2, "whimbrel: tau is -1: it must be zero or more"),
        (JobInUse("held by 7"), 2, "whimbrel: held by 7"),
        (Damaged("page 3 is short"), 1, "whimbrel: page 3 is short"),
        (
            FileNotFoundError(2, "No such file or directory", "in.json"),
            2,
            "whimbrel: in.json: no such file or directory",
        ),
        (OSError(28, "No space left on device", "out"), 1, "whimbrel: out: no space left on device"),
        (TimeoutError("after 9 seconds 3 bins still wait"), 1, "whimbrel: after 9 seconds 3 bins still wait"),
        (ValueError("boom\nand more"), 1, "whimbrel: a fault of Whimbrel, ValueError: boom (see where"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_each_error_has_its_exit_code_and_one_line(capsys, failing, error: BaseException, code: int, line: str) -> None:
    failing(error)
    left, text = outcome(capsys, "fail")
    assert left == code
    assert text.startswith(line)
    assert text.count("\n") == (1 if line else 0)


def test_debug_shows_where_an_error_happened(failing) -> None:
    failing(BadInput("bad"))
    with pytest.raises(BadInput):
        command_line.main(["fail", "--debug"])


def test_debug_is_forgotten_by_the_next_command(capsys, failing) -> None:
    failing(BadInput("bad"))
    with pytest.raises(BadInput):
        command_line.main(["--debug", "fail"])
    assert outcome(capsys, "fail")[0] == 2


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m whimbrel.cli --help | true; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "0"
    assert not done.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is not JSON"),
        ("[1, 2]", "holds a JSON list: an object is needed"),
        ("[" * 100_000, "its brackets are nested too deeply"),
        ('{"work": [' + "9" * 5000 + "]}", "exceeds the limit"),
        ('{"work": [' + "9" * 400 + '], "state": [1], "intervals": [[0, 1]], "slots": 1, "tau": 1}', "must be finite"),
    ],
)
def test_a_file_that_is_no_instance_is_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, complaint: str
) -> None:
    file = tmp_path / "instance.json"
    file.write_text(text)
    code, line = outcome(capsys, "plan", "--instance", str(file), "--json")
    assert (code, line.count("\n")) == (2, 1)
    assert line.startswith(f"whimbrel: {file}") and complaint in line


@pytest.mark.parametrize("name", ["missing.json", ".", "file/inside.json", "x" * 300])
def test_a_file_that_cannot_be_read_is_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").write_text("")
    code, line = outcome(capsys, "plan", "--instance", str(tmp_path / name))
    assert (code, line.count("\n")) == (2, 1)
