"""Which Java Spark gets, and what is said where there is none."""

from pathlib import Path

import pytest

from whimbrel.cli import java
from whimbrel.model.errors import BadInput


def make_java(home: Path, version: str) -> Path:
    """A folder that looks like a Java of some version."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only usual place of this machine."""
    monkeypatch.setattr(java, "USUAL_PLACES", (f"{tmp_path}/jvm/*",))
    return tmp_path / "jvm"


def test_the_named_java_wins_over_the_one_on_the_path(tmp_path: Path, places: Path) -> None:
    named, on_path = make_java(tmp_path / "a", "21.0.2"), make_java(tmp_path / "b", "17.0.9")
    assert java.find_java_home({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}) == named


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path, places: Path) -> None:
    old, usual = make_java(tmp_path / "a", "1.8.0_392"), make_java(places / "java-17", "17")
    assert java.find_java_home({"JAVA_HOME": str(old), "PATH": ""}) == usual


def test_too_old_ones_are_named_with_what_to_do(tmp_path: Path, places: Path) -> None:
    old = make_java(tmp_path / "a", "11.0.2")
    with pytest.raises(BadInput, match=r"needs Java 17 or newer \(.*a is Java 11\): install one or set JAVA_HOME"):
        java.find_java_home({"JAVA_HOME": str(old), "PATH": ""})


def test_no_java_at_all_says_where_was_looked(places: Path) -> None:
    with pytest.raises(BadInput, match="none was found in JAVA_HOME, on PATH"):
        java.find_java_home({"PATH": ""})


def test_a_folder_without_a_java_is_passed_over(tmp_path: Path, places: Path) -> None:
    usual = make_java(places / "java-21", "21")
    assert java.find_java_home({"JAVA_HOME": str(tmp_path / "gone"), "PATH": ""}) == usual


def test_spark_gets_the_java_and_this_python_without_losing_the_callers_choice(places: Path) -> None:
    usual = make_java(places / "java-21", "21")
    environment = {"PATH": "", "PYSPARK_PYTHON": "mine"}
    java.offer_to_spark(environment)
    assert environment["JAVA_HOME"] == str(usual)
    assert environment["PYSPARK_PYTHON"] == "mine"


def test_pure_commands_need_no_java(places: Path) -> None:
    environment = {"PATH": ""}
    java.offer_to_spark(environment)
    assert "JAVA_HOME" not in environment


def test_sparks_own_complaint_becomes_one_line(places: Path) -> None:
    gateway = RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")
    assert "needs Java 17" in str(java.explanation(gateway, {"PATH": ""}))
    assert java.explanation(ValueError("other"), {"PATH": ""}) is None
